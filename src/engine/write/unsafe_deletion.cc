// SPDX-License-Identifier: Apache-2.0

#include "engine/write/unsafe_deletion.h"

#include "admission/recorder.h"
#include "api/api_status.h"
#include "api/field_error.h"
#include "authz/authorizer.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/options.h"
#include "engine/write/write.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kVerb = "unsafe-delete-ignore-read-errors";

base::Status CheckPermission(const Operation& op) {
  if (op.world.authorizer == nullptr) return base::OkStatus();
  authz::Attributes attributes;
  attributes.user = &op.user;
  attributes.verb = kVerb;
  attributes.group = op.resource->resource.group;
  attributes.version = op.resource->resource.version;
  attributes.resource = op.resource->resource.resource;
  attributes.ns = op.ns;
  attributes.name = op.name;
  const authz::Decision decision = op.world.authorizer->Authorize(attributes);
  if (decision.allowed()) return base::OkStatus();
  return api::ForbiddenStatus(
      op.group_resource(), op.name,
      base::StrCat("not permitted to do ", base::GoQuote(kVerb), ", reason: ", decision.reason));
}

}  // namespace

base::Status CheckUnsafeDeletion(Operation& op) {
  static_cast<void>(op.recorder.Annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "",
                                         admission::AuditLevel::kMetadata));
  TRY(CheckPermission(op));
  if (!op.world.store->WhyUnreadable(KeyOf(op, op.name)).ok()) return base::OkStatus();
  const api::FieldErrors errors = {api::Invalid(
      api::FieldPath(kIgnoresReadErrors), true,
      "is exclusively used to delete corrupt object(s), try again by removing this option")};
  return api::InvalidStatus({op.resource->resource.group, op.resource->resource.resource}, op.name,
                            errors);
}

}  // namespace portcullis::engine
