// SPDX-License-Identifier: Apache-2.0

#include "controllers/client.h"

#include <utility>

#include "api/patch/managed_fields.h"
#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/strings.h"
#include "engine/engine.h"
#include "engine/verbs.h"
#include "json/writer.h"

namespace portcullis::controllers {
namespace {

using engine::Verb;

constexpr std::string_view kMetaVersion = "meta.k8s.io/v1";

engine::WriteOptions WriteOptionsOf(json::Arena& arena, const Request& request,
                                    const Identity& identity) {
  engine::WriteOptions options;
  options.field_manager = request.field_manager;
  if (options.field_manager.empty()) {
    options.field_manager = api::patch::ManagerFromUserAgent(identity.agent);
  }
  if (request.force) options.force = true;
  options.include_uninitialized = request.include_uninitialized;
  engine::SetOptionsForAdmission(arena, {.field_manager = request.field_manager}, options);
  return options;
}

engine::DeleteOptions DeleteOptionsOf(json::Arena& arena, const Request& request) {
  engine::DeleteOptions options;
  options.uid = request.uid;
  options.propagation_policy = request.propagation_policy;
  options.grace_period_seconds = request.grace_period_seconds;
  json::ObjectBuilder value(arena);
  value.Set("kind", "DeleteOptions").Set("apiVersion", kMetaVersion);
  if (options.grace_period_seconds) value.Set("gracePeriodSeconds", *options.grace_period_seconds);
  if (!options.uid.empty()) {
    value.Set("preconditions", json::ObjectBuilder(arena).Set("uid", request.uid).Build());
  }
  if (!options.propagation_policy.empty()) {
    value.Set("propagationPolicy", request.propagation_policy);
  }
  options.value = value.Build();
  return options;
}

class EngineClient final : public Client {
 public:
  EngineClient(const engine::World& world, Identity identity)
      : world_(world), identity_(std::move(identity)) {}

  base::Result<store::ObjectPtr> Do(const Request& request) override {
    engine::Operation op(world_);
    TRY(Resolve(op, request));
    op.user = identity_.user;
    op.deadline = base::SteadyTime::max();
    TRY(Authorize(op));
    return StoredBy(TRY(Perform(op, request, identity_)));
  }

 private:
  base::Status Authorize(const engine::Operation& op) const {
    authz::Attributes attributes;
    attributes.user = &op.user;
    attributes.verb = engine::VerbName(op.verb);
    attributes.group = op.resource->resource.group;
    attributes.version = op.resource->resource.version;
    attributes.resource = op.resource->resource.resource;
    attributes.subresource = op.subresource_name();
    attributes.ns = op.ns;
    attributes.name = op.name;
    const authz::Decision decision = world_.authorizer->Authorize(attributes);
    if (decision.allowed()) return base::OkStatus();
    return authz::Denied(attributes, decision.reason);
  }

  const engine::World& world_;
  const Identity identity_;
};

}  // namespace

Identity ServiceAccountOf(std::string_view account) {
  Identity identity;
  identity.user.name = base::StrCat("system:serviceaccount:kube-system:", account);
  identity.user.groups = {"system:serviceaccounts", "system:serviceaccounts:kube-system",
                          std::string(api::kGroupAuthenticated)};
  identity.agent = base::StrCat("portcullis/", account);
  return identity;
}

Identity ServerItself() {
  Identity identity;
  identity.user.name = "system:apiserver";
  identity.user.uid = base::Uuid();
  identity.user.groups = {std::string(api::kGroupAuthenticated), std::string(api::kGroupMasters)};
  identity.agent = "kube-apiserver";
  return identity;
}

Identity IdentityOf(std::string_view account) {
  if (account.empty()) return ServerItself();
  const std::size_t colon = account.rfind(':');
  if (colon == std::string_view::npos) return ServiceAccountOf(account);
  Identity identity;
  identity.user.name = account;
  identity.user.groups = {std::string(api::kGroupAuthenticated)};
  identity.agent = account.substr(colon + 1);
  return identity;
}

std::unique_ptr<Client> MakeClient(const engine::World& world, Identity identity) {
  return std::make_unique<EngineClient>(world, std::move(identity));
}

base::Status Resolve(engine::Operation& op, const Request& request) {
  const api::GroupVersionResource& resource = request.resource;
  // A Namespace counts as being in itself, as its path says.
  const bool is_namespace =
      resource.group.empty() && resource.resource == "namespaces" && !request.name.empty();
  op.verb = request.verb;
  return engine::Resolve(op,
                         {resource.group, resource.version, resource.resource, request.subresource,
                          is_namespace ? request.name : request.ns, request.name});
}

base::Result<Done> Perform(engine::Operation& op, const Request& request,
                           const Identity& identity) {
  switch (request.verb) {
    case Verb::kDelete:
      return Done(TRY(engine::Delete(op, DeleteOptionsOf(op.arena, request))));
    case Verb::kDeleteCollection:
      return Done(TRY(engine::DeleteCollection(op, {}, DeleteOptionsOf(op.arena, request))));
    default:
      break;
  }
  engine::Input input;
  input.patch = request.patch;
  if (request.verb == Verb::kPatch && request.patch == engine::PatchType::kApply) {
    input.applied = request.body;
  } else {
    input.body = op.arena.Copy(json::ToString(request.body));
  }
  input.options = WriteOptionsOf(op.arena, request, identity);
  return Done(TRY(engine::Write(op, input)));
}

store::ObjectPtr StoredBy(const Done& done) {
  const auto* outcome = std::get_if<engine::Outcome>(&done);
  return outcome == nullptr ? nullptr : outcome->stored;
}

}  // namespace portcullis::controllers
