// SPDX-License-Identifier: Apache-2.0

// TokenRequest: tokens of service accounts (Kubernetes docs, "Managing Service Accounts"; the
// checks and their order are those of pkg/registry/core/serviceaccount/storage/token.go).

#include <algorithm>

#include "api/api_status.h"
#include "authn/authenticator.h"
#include "authn/service_account.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresource_body.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "store/readable.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::int64_t kDefaultSeconds = 3600;
constexpr std::int64_t kLeastSeconds = 600;
constexpr std::int64_t kMostSeconds = std::int64_t{1} << 32;
// What the kubelet asks for on behalf of pods: clients that never read the token again get a year,
// and are noted once they are late.
constexpr std::int64_t kPodSeconds = 3607;
constexpr std::int64_t kExtendedSeconds = 365 * 24 * 3600;

base::Status CheckNames(Operation& op, json::Value metadata) {
  const std::string_view name = metadata["name"].AsString();
  if (name.empty() || name == op.name) return base::OkStatus();
  const api::FieldErrors errors = {
      api::Invalid(api::FieldPath("metadata", "name"), name,
                   "must match the service account name if specified")};
  return api::InvalidStatus(op.kind().group_kind(), op.name, errors);
}

base::Status CheckSeconds(Operation& op, std::int64_t seconds) {
  const std::string_view wrong =
      seconds < kLeastSeconds  ? "may not specify a duration less than 10 minutes"
      : seconds > kMostSeconds ? "may not specify a duration larger than 2^32 seconds"
                               : "";
  if (wrong.empty()) return base::OkStatus();
  const api::FieldErrors errors = {
      api::Invalid(api::FieldPath("spec", "expirationSeconds"), seconds, wrong)};
  return api::InvalidStatus(op.kind().group_kind(), "", errors);
}

authn::ObjectRef RefTo(const store::ObjectPtr& object) {
  return {std::string(object->name()), std::string(object->uid())};
}

// A pod's token also names the pod's node; by its name only if it is not there.
std::optional<authn::ObjectRef> NodeOf(Operation& op, const store::ObjectPtr& pod) {
  const std::string name(pod->document()["spec"]["nodeName"].AsString());
  if (name.empty()) return {};
  const store::ObjectPtr node = op.world.store->Get({"", "nodes", "", name});
  return node == nullptr ? authn::ObjectRef{name, ""} : RefTo(node);
}

// Finds the object the token is to live and die with, and puts it into the claims.
base::Status Bind(Operation& op, json::Value ref, authn::ServiceAccountClaims& claims) {
  const std::string_view kind = ref["kind"].AsString();
  const auto version = api::ParseGroupVersion(ref["apiVersion"].AsString());
  const bool core = !version.ok() || version->group.empty();
  const std::string_view resource = !core              ? ""
                                    : kind == "Pod"    ? "pods"
                                    : kind == "Node"   ? "nodes"
                                    : kind == "Secret" ? "secrets"
                                                       : "";
  if (resource.empty()) {
    return base::BadRequest(base::StrCat("cannot bind token to object of type ",
                                         version.ok() ? version->group : "", "/",
                                         version.ok() ? version->version : "", ", Kind=", kind));
  }
  const std::string_view name = ref["name"].AsString();
  const std::string_view ns = resource == "nodes" ? "" : std::string_view(op.ns);
  const store::ObjectPtr object =
      TRY(store::GetReadable(*op.world.store, {"", resource, ns, name}));
  if (object == nullptr) return api::NotFoundStatus({"", std::string(resource)}, name);
  if (resource == "pods") {
    if (object->document()["spec"]["serviceAccountName"].AsString() != op.name) {
      return base::BadRequest(
          base::StrCat("cannot bind token for serviceaccount \"", op.name,
                       "\" to pod running with different serviceaccount name."));
    }
    claims.pod = RefTo(object);
    claims.node = NodeOf(op, object);
  } else {
    (resource == "nodes" ? claims.node : claims.secret) = RefTo(object);
  }
  const std::string_view uid = ref["uid"].AsString();
  if (!uid.empty() && uid != object->uid()) {
    return api::ConflictStatus(
        {"", std::string(kind)}, name,
        base::StrCat("the UID in the bound object reference (", uid,
                     ") does not match the UID in record. The object might have been deleted and "
                     "then recreated"));
  }
  return base::OkStatus();
}

// The request as it is judged by validating admission: complete but for the token.
base::Result<json::Value> Complete(Operation& op, json::Value request,
                                   const store::Object& account) {
  const json::Value metadata = request["metadata"];
  const std::string_view uid = metadata["uid"].AsString();
  if (!uid.empty() && uid != account.uid()) {
    return api::ConflictStatus(
        {op.kind().group, op.kind().kind}, op.name,
        base::StrCat("the UID in the token request (", uid,
                     ") does not match the UID of the service account (", account.uid(), ")"));
  }
  json::ObjectBuilder complete(op.arena, metadata);
  complete.Set("name", op.name);
  complete.Set("namespace", op.ns);
  complete.Set("uid", account.uid());
  complete.Set("creationTimestamp", std::string_view(base::FormatTime(op.world.clock->Now())));
  request = json::With(op.arena, request, "metadata", complete.Build());
  json::Value spec = request["spec"];
  if (spec["audiences"].empty()) {
    json::ArrayBuilder audiences(op.arena);
    for (const std::string& audience : ApiAudiences(op)) audiences.Add(audience);
    spec = json::With(op.arena, spec, "audiences", audiences.Build());
  }
  const std::int64_t seconds = spec["expirationSeconds"].AsInt(kDefaultSeconds);
  spec = json::With(op.arena, spec, "expirationSeconds", json::Value::Int(seconds));
  TRY(CheckSeconds(op, seconds));
  return json::With(op.arena, request, "spec", spec);
}

}  // namespace

std::vector<std::string> ApiAudiences(const Operation& op) {
  const TokenSettings& settings = op.world.token_settings;
  if (!settings.api_audiences.empty()) return settings.api_audiences;
  return {settings.issuer};
}

base::Result<Outcome> CreateToken(Operation& op, const Input& input) {
  const WriteOptions& options = input.options;
  json::Value request =
      DeduplicateOwners(op, TRY(DecodeSubresourceBody(op, input)), When::kBeforeAdmission);
  request = TRY(RunMutating(op, {.operation = admission::kCreate,
                                 .name = op.name,
                                 .object = request,
                                 .options = options.as_create}));
  TRY(CheckNames(op, request["metadata"]));
  const store::ObjectPtr account = op.world.store->Get(KeyOf(op, op.name));
  if (account == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
  request = TRY(Complete(op, request, *account));
  TRY(RunValidating(op, {.operation = admission::kCreate,
                         .name = op.name,
                         .object = request,
                         .options = options.as_create}));
  if (op.world.signer == nullptr) {
    return api::UnknownResourceStatus();
  }
  authn::ServiceAccountClaims claims;
  claims.ns = op.ns;
  claims.service_account = RefTo(account);
  for (const json::Value& audience : request["spec"]["audiences"].elements()) {
    claims.audiences.emplace_back(audience.AsString());
  }
  const json::Value bound = request["spec"]["boundObjectRef"];
  if (!bound.is_null()) TRY(Bind(op, bound, claims));
  std::int64_t seconds = request["spec"]["expirationSeconds"].AsInt();
  const std::int64_t most =
      std::chrono::duration_cast<std::chrono::seconds>(op.world.token_settings.max_expiration)
          .count();
  if (most > 0 && seconds > most) {
    op.recorder.Warn(base::StrCat("requested expiration of ", std::to_string(seconds),
                                  " seconds shortened to ", std::to_string(most), " seconds"));
    seconds = most;
    request =
        json::SetPath(op.arena, request, {"spec", "expirationSeconds"}, json::Value::Int(most));
  }
  std::int64_t lifetime = seconds;
  const std::vector<std::string> own = ApiAudiences(op);
  const bool for_api = std::all_of(
      claims.audiences.begin(), claims.audiences.end(), [&](const std::string& audience) {
        return std::find(own.begin(), own.end(), audience) != own.end();
      });
  if (op.world.token_settings.extend_expiration && claims.pod.has_value() &&
      seconds == kPodSeconds && for_api) {
    claims.warn_after = seconds;
    lifetime = kExtendedSeconds;
  }
  const std::string token = TRY(op.world.signer->Sign(claims, std::chrono::seconds(lifetime)));
  const auto expires =
      std::chrono::system_clock::from_time_t(static_cast<std::time_t>(claims.issued_at + seconds));
  request = json::With(op.arena, request, "status",
                       json::ObjectBuilder(op.arena)
                           .Set("token", token)
                           .Set("expirationTimestamp", std::string_view(base::FormatTime(expires)))
                           .Build());
  static_cast<void>(op.recorder.Annotate("authentication.kubernetes.io/issued-credential-id",
                                         base::StrCat("JTI=", claims.id),
                                         admission::AuditLevel::kMetadata));
  return PlainOutcome(201, Ordered(op.arena, request));
}

}  // namespace portcullis::engine
