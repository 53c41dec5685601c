// SPDX-License-Identifier: Apache-2.0

// Engine: the admission control of Kubernetes in one process: the catalog of kinds, the plugins'
// chain and a store, and the verbs that go through them. It opens no port, reads no key and starts
// no thread that is not asked for.
//
//   auto engine = TRY(engine::Engine::Create({}));           // everything allowed, in memory
//   engine::Operation op(engine->world());
//   TRY(engine::Resolve(op, {.version = "v1", .resource = "pods", .ns = "default"}));
//   op.verb = engine::Verb::kCreate;
//   op.user.name = "alice";
//   auto outcome = engine::Write(op, {.body = R"({"kind":"Pod",…})"});   // verbs.h
//
// Thread-safe once created. Destroying it ends what it started; operations have ended before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/config.h"
#include "api/catalog/catalog.h"
#include "base/status.h"
#include "engine/operation.h"
#include "engine/world.h"
#include "registry/services/service_network.h"
#include "release/release.h"

namespace portcullis::admission {
class ServiceResolver;
}
namespace portcullis::kube_cel {
class Compiler;
}
namespace portcullis::metrics {
class Registry;
}
namespace portcullis::net {
class HttpsClient;
}

namespace portcullis::engine {

// What an engine is made of. Pointers outlive it.
struct EngineOptions {
  const base::Clock* clock = nullptr;             // null: the system's
  store::Store* store = nullptr;                  // null: one in memory, the engine's own
  const authz::Authorizer* authorizer = nullptr;  // null: everything is allowed
  bool authorizer_may_wait = false;               // it asks somebody outside the process
  const authz::rbac::RuleBook* rbac = nullptr;    // null: RBAC guards no escalation
  net::HttpsClient* https = nullptr;              // null: webhooks cannot be called
  std::size_t max_webhook_response_bytes = 0;     // see webhook::ConversionWebhooks
  metrics::Registry* metrics = nullptr;           // null: nothing is counted
  const authn::TokenAuthenticator* tokens = nullptr;
  const authn::TokenSigner* signer = nullptr;
  const NamespaceHook* namespace_hook = nullptr;
  // Null: 10.0.0.0/24 and 30000-32767.
  std::unique_ptr<registry::ServiceNetwork> services;
  // Where default/kubernetes:443 is reached, "host:port"; null or "": nowhere.
  std::function<std::string()> own_address;
  // A controller completes the status of ValidatingAdmissionPolicies; see registry::Context.
  bool checks_policy_types = false;

  // As the flags of kube-apiserver and `portcullis serve` with these names.
  std::string kubernetes_version = "1.36";
  release::GateSettings feature_gates;
  bool allow_privileged = true;  // see registry::Context
  api::catalog::RuntimeConfig runtime_config;
  admission::PluginFlags admission_plugins;
  std::string admission_control_config_file;  // "": none
  std::string server_identity;                // see admission::PluginContext
  std::string proxy_client_cert_file;         // likewise
  std::string proxy_client_key_file;
  admission::UsageHistoryOptions usage_history;
  std::int64_t default_not_ready_toleration_seconds = 300;
  std::int64_t default_unreachable_toleration_seconds = 300;
  std::map<std::string, std::string> webhook_service_map;
  bool dials_cluster_ips = false;   // see webhook/service_resolver.h
  bool route_to_endpoints = false;  // likewise
  bool read_only = false;  // plugins write nothing (quotas are not charged): the store is a copy
  TokenSettings token_settings{"https://kubernetes.default.svc.cluster.local"};
};

class Engine {
 public:
  // Errors are the operator's: a flag's value, a file, each named.
  static base::Result<std::unique_ptr<Engine>> Create(EngineOptions options);
  virtual ~Engine() = default;

  virtual const World& world() const = 0;
  virtual const admission::Chain& chain() const = 0;
  virtual kube_cel::Compiler& compiler() = 0;
  virtual const admission::ServiceResolver& resolver() const = 0;

  // Starts the thread that writes the conditions of CustomResourceDefinitions and clears away the
  // objects of those that are deleted. Without it, kinds are served and never cleared away.
  virtual void Start() = 0;
  // Ends that thread.
  virtual void Stop() = 0;
};

// Whether the objects of an engine with these flags may have metadata.initializers
// (docs/legacy.md). Errors as Engine::Create.
base::Result<bool> HasInitializers(const admission::PluginFlags& flags,
                                   const release::Release& release);

// What an operation is about, as a path of the API names it.
struct ResourcePath {
  std::string_view group;
  std::string_view version;
  std::string_view resource;     // plural: "pods"
  std::string_view subresource;  // "" for the resource itself
  std::string_view ns;
  std::string_view name;
};

// Fills in what `path` says: catalog, resource, subresource, namespace, name; and when the
// operation has begun and must have ended (34 s). NotFound if there is no such resource.
base::Status Resolve(Operation& op, const ResourcePath& path);
// The same of an object: its kind, namespace and name.
base::Status ResolveObject(Operation& op, json::Value object);

}  // namespace portcullis::engine
