// SPDX-License-Identifier: Apache-2.0

#include "offline/cluster.h"

#include <atomic>
#include <optional>
#include <utility>

#include "api/api_status.h"
#include "authz/modes.h"
#include "authz/rbac/rule_book.h"
#include "base/clock.h"
#include "base/strings.h"
#include "controllers/client.h"
#include "controllers/resource_quota.h"
#include "engine/boot/boot_objects.h"
#include "engine/codec/hidden_fields.h"
#include "engine/subresources/subresources.h"
#include "engine/verbs.h"
#include "engine/write/cluster_writer.h"
#include "engine/write/write.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "offline/http_request.h"
#include "store/memory/memory_store.h"

namespace portcullis::offline {
namespace {

api::UserInfo UserOf(const ClusterOptions& options) {
  api::UserInfo user;
  user.name = options.as.empty() ? "kubernetes-admin" : options.as;
  user.groups = options.as_groups;
  if (options.as.empty()) user.groups.emplace_back(api::kGroupMasters);
  user.groups.emplace_back(api::kGroupAuthenticated);
  return user;
}

// The field manager that kubectl names.
std::string_view ManagerOf(const Request& request) {
  if (request.verb == engine::Verb::kUpdate) return "kubectl-replace";
  if (request.verb != engine::Verb::kPatch) return "kubectl-create";
  return request.patch == engine::PatchType::kApply ? "kubectl" : "kubectl-patch";
}

}  // namespace

// Has the roles and bindings of every cluster made before it is asked for anyone but an
// administrator: few manifests need them, and they are half of what a cluster begins with.
class Cluster::RolesOnDemand final : public authz::Authorizer {
 public:
  RolesOnDemand(std::shared_ptr<const authz::Authorizer> rbac, const Cluster& cluster)
      : rbac_(std::move(rbac)), cluster_(cluster) {}

  authz::Decision Authorize(const authz::Attributes& attributes) const override {
    if (!attributes.user->InGroup(api::kGroupMasters)) {
      if (const base::Status made = Ensure(); !made.ok()) {
        authz::Decision decision;
        decision.error = made.message();
        return decision;
      }
    }
    return rbac_->Authorize(attributes);
  }
  authz::Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    authz::Rules rules;
    const base::Status made = Ensure();
    if (made.ok()) return rbac_->RulesFor(user, ns);
    rules.error = made.message();
    return rules;
  }
  base::Status Ensure() const {
    if (made_.exchange(true)) return base::OkStatus();
    return engine::MakeBootRoles(cluster_.world(), 1);
  }

 private:
  const std::shared_ptr<const authz::Authorizer> rbac_;
  const Cluster& cluster_;
  mutable std::atomic<bool> made_{false};
};

struct Cluster::Parts {
  std::unique_ptr<store::Store> store = store::OpenMemory();
  std::unique_ptr<const RolesOnDemand> authorizer;
  std::shared_ptr<authz::rbac::RuleBook> rbac;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<controllers::Client> client;
  std::optional<controllers::ControllerContext> context;  // outlives the controller
  std::unique_ptr<controllers::Controller> quotas;
};

Cluster::Cluster() : parts_(std::make_unique<Parts>()) {}
Cluster::~Cluster() = default;

base::Result<std::unique_ptr<Cluster>> Cluster::Create(ClusterOptions options) {
  std::unique_ptr<Cluster> cluster(new Cluster);
  TRY(cluster->Build(std::move(options)));
  return cluster;
}

base::Status Cluster::Build(ClusterOptions options) {
  options_ = std::move(options);
  user_ = UserOf(options_);
  const auto release =
      TRY(release::Release::Open(options_.kubernetes_version, options_.feature_gates));
  if (const auto problems = release.Problems(); !problems.empty()) {
    return base::ConfigError(problems.front());
  }
  engine::EngineOptions made;
  made.store = parts_->store.get();
  authz::ModeOptions modes;
  modes.modes = {"RBAC"};
  modes.initializers = TRY(engine::HasInitializers(options_.admission_plugins, release));
  auto assembled = TRY(authz::Assemble(modes, *parts_->store));
  parts_->authorizer =
      std::make_unique<const RolesOnDemand>(std::move(assembled.authorizer), *this);
  parts_->rbac = std::move(assembled.rbac);
  made.authorizer = parts_->authorizer.get();
  made.rbac = parts_->rbac.get();
  made.default_not_ready_toleration_seconds = options_.default_not_ready_toleration_seconds;
  made.default_unreachable_toleration_seconds = options_.default_unreachable_toleration_seconds;
  made.https = options_.https;
  made.webhook_service_map = options_.webhook_service_map;
  made.kubernetes_version = options_.kubernetes_version;
  made.feature_gates = options_.feature_gates;
  made.runtime_config = options_.runtime_config;
  made.admission_plugins = options_.admission_plugins;
  made.admission_control_config_file = options_.admission_control_config_file;
  made.read_only = options_.read_only;
  parts_->engine = TRY(engine::Engine::Create(std::move(made)));
  engine::BootFacts facts;
  facts.writers = 1;
  facts.roles = false;
  TRY(engine::MakeBootObjects(world(), facts));
  // The check of escalation reads roles without asking the authorizer.
  if (!options_.as.empty()) TRY(MakeRoles());
  for (std::string_view ns : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    TRY(MakeServiceAccount(ns, "default"));
  }
  parts_->client = controllers::MakeClient(world(), controllers::ServerItself());
  return base::OkStatus();
}

base::Status Cluster::MakeRoles() { return parts_->authorizer->Ensure(); }

const engine::World& Cluster::world() const { return parts_->engine->world(); }

engine::WriteOptions Cluster::WriteOptionsOf(engine::Operation& op, const Request& request) const {
  if (request.options != nullptr) return *request.options;
  engine::WriteOptions options;
  options.dry_run = options_.dry_run || request.dry_run;
  options.field_manager = !request.field_manager.empty()    ? request.field_manager
                          : !options_.field_manager.empty() ? options_.field_manager
                                                            : ManagerOf(request);
  options.validation = options_.validation;
  if (request.verb == engine::Verb::kPatch && request.force) options.force = true;
  engine::GivenWriteOptions given;
  if (options.dry_run) given.dry_run = {"All"};
  given.field_manager = options.field_manager;
  given.field_validation = engine::FieldValidationName(options.validation);
  engine::SetOptionsForAdmission(op.arena, given, options);
  return options;
}

base::Result<engine::Outcome> Cluster::Submit(engine::Operation& op, const Request& request) {
  op.verb = request.verb;
  // A new object is named by its body.
  if (op.verb == engine::Verb::kCreate && op.subresource == nullptr) op.name.clear();
  op.user = request.user != nullptr ? *request.user : user_;
  if (!op.resource->deprecation_warning.empty()) {
    op.recorder.Warn(op.resource->deprecation_warning);
  }
  if (op.verb == engine::Verb::kGet) return Get(op);
  if (op.verb == engine::Verb::kList) return List(op, request);
  if (op.verb == engine::Verb::kDelete || op.verb == engine::Verb::kDeleteCollection) {
    return Delete(op, request);
  }
  engine::Input input;
  input.body = request.body;
  input.type = request.type                        ? *request.type
               : json::HasJsonPrefix(request.body) ? engine::MediaType::kJson
                                                   : engine::MediaType::kYaml;
  input.patch = request.patch;
  input.parameters = request.parameters;
  input.options = WriteOptionsOf(op, request);
  op.dry_run = input.options.dry_run;
  if (op.verb == engine::Verb::kConnect) {
    const json::Value admitted = TRY(engine::AdmitConnection(op, input));
    const base::Status status = engine::Unreachable(op, admitted);
    return engine::PlainOutcome(status.http_code(), StatusValue(op, status));
  }
  auto outcome = engine::Write(op, input);
  if (outcome.ok()) Follow(op, *outcome);
  return outcome;
}

base::Result<engine::Outcome> Cluster::Delete(engine::Operation& op, const Request& request) {
  engine::DeleteOptions deletion;
  if (request.deletion != nullptr) {
    deletion = *request.deletion;
  } else {
    deletion.dry_run = options_.dry_run || request.dry_run;
    deletion.propagation_policy = "Background";
    deletion.value = json::ObjectBuilder(op.arena)
                         .Set("kind", "DeleteOptions")
                         .Set("apiVersion", "meta.k8s.io/v1")
                         .Set("propagationPolicy", "Background")
                         .Build();
  }
  op.dry_run = deletion.dry_run;
  if (op.verb == engine::Verb::kDelete) return engine::Delete(op, deletion);
  const engine::ListOptions all;
  const engine::Listing gone =
      TRY(engine::DeleteCollection(op, request.list != nullptr ? *request.list : all, deletion));
  return engine::PlainOutcome(200, TRY(ListValue(op, gone)));
}

base::Result<engine::Outcome> Cluster::List(engine::Operation& op, const Request& request) const {
  const engine::ListOptions all;
  const engine::ListOptions& options = request.list != nullptr ? *request.list : all;
  const engine::Selection selection = TRY(engine::ReadSelection(op, options));
  return engine::PlainOutcome(200,
                              TRY(ListValue(op, TRY(engine::ListObjects(op, options, selection)))));
}

base::Result<engine::Outcome> Cluster::Get(engine::Operation& op) const {
  if (const engine::Function function = engine::FindFunction(op)) {
    return engine::Finish(op, *function(op, {}));
  }
  engine::Outcome outcome;
  outcome.stored = parts_->store->Get(engine::KeyOf(op, op.name));
  if (outcome.stored == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
  if (op.subresource == nullptr) {
    outcome.stored = TRY(engine::Shown(*op.resource, outcome.stored));
  }
  return outcome;
}

base::Status Cluster::Give(json::Value object, std::string_view ns) {
  engine::Operation op(world());
  TRY(engine::ResolveObject(op, object));
  if (op.resource->namespaced && op.ns.empty()) op.ns = ns;
  op.verb = engine::Verb::kCreate;
  op.name.clear();
  op.user = user_;
  op.by_server = true;
  object = json::RemovePath(op.arena, object, {"metadata", "resourceVersion"});
  const std::string text = json::ToString(object);
  engine::Input input;
  input.body = text;
  // Fields that no managedFields tell an owner of are owned by who has created the object.
  input.options.field_manager = "kubectl-create";
  const engine::Outcome outcome = TRY(engine::Write(op, input));
  Follow(op, outcome);
  return base::OkStatus();
}

void Cluster::Follow(const engine::Operation& op, const engine::Outcome& outcome) {
  if (outcome.stored == nullptr || !op.group_resource().group.empty()) return;
  const std::string& resource = op.resource->resource.resource;
  if (resource == "namespaces") {
    static_cast<void>(MakeServiceAccount(outcome.stored->name(), "default"));
  } else if (resource == "resourcequotas") {
    if (parts_->quotas == nullptr) {
      parts_->context.emplace(controllers::ControllerContext{
          *parts_->store, *parts_->client, *world().catalog, *world().clock,
          parts_->engine->compiler(), "", *world().release, world().services});
      parts_->quotas = controllers::kResourceQuota.create(*parts_->context);
    }
    parts_->quotas->Reconcile(op.ns);
  }
}

bool Cluster::HasNamespace(std::string_view name) const {
  return parts_->store->Get({"", "namespaces", "", name}) != nullptr;
}

bool Cluster::HasServiceAccount(std::string_view ns, std::string_view name) const {
  return parts_->store->Get({"", "serviceaccounts", ns, name}) != nullptr;
}

bool Cluster::HasQuota(std::string_view ns) const {
  return !parts_->store->List({"", "resourcequotas"}, ns).empty();
}

base::Status Cluster::MakeNamespace(std::string_view name) {
  json::Arena arena;
  const json::Value object =
      json::ObjectBuilder(arena)
          .Set("apiVersion", "v1")
          .Set("kind", "Namespace")
          .Set("metadata", json::ObjectBuilder(arena).Set("name", name).Build())
          .Build();
  return Give(object, "");
}

base::Status Cluster::MakeServiceAccount(std::string_view ns, std::string_view name) {
  json::Arena arena;
  return engine::EnsureObject(
      world(), json::ObjectBuilder(arena)
                   .Set("apiVersion", "v1")
                   .Set("kind", "ServiceAccount")
                   .Set("metadata",
                        json::ObjectBuilder(arena).Set("name", name).Set("namespace", ns).Build())
                   .Build());
}

json::Value Cluster::AsUpdate(engine::Operation& op, json::Value object) const {
  const store::ObjectPtr stored = parts_->store->Get(engine::KeyOf(op, op.name));
  if (stored == nullptr) return object;
  const json::Value live = json::DeepCopy(op.arena, stored->document()["metadata"]);
  json::Value metadata = object["metadata"];
  for (std::string_view name : {"uid", "resourceVersion", "creationTimestamp"}) {
    metadata = json::With(op.arena, metadata, name, live[name]);
  }
  return json::With(op.arena, object, "metadata", metadata);
}

bool Cluster::Has(const engine::Operation& op, std::string_view name) const {
  return parts_->store->Get(engine::KeyOf(op, name)) != nullptr;
}

void Cluster::Withdraw(const engine::Operation& op, std::string_view name) {
  const store::Key key = engine::KeyOf(op, name);
  if (parts_->store->Get(key) != nullptr) static_cast<void>(parts_->store->Delete(key, {}));
}

}  // namespace portcullis::offline
