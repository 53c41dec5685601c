// SPDX-License-Identifier: Apache-2.0

// Cluster: a Kubernetes API in memory that manifests are judged by: an engine with the objects every
// cluster has, and what the offline commands give it. It opens no port and calls no one, unless
// webhooks are called.
//
// Confined to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/survey.h"
#include "api/user_info.h"
#include "base/status.h"
#include "engine/engine.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "engine/outcome.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::controllers {
class Client;
class Controller;
}  // namespace portcullis::controllers

namespace portcullis::offline {

struct ClusterOptions {
  // As the flags of kube-apiserver with these names.
  std::string kubernetes_version = "1.36";
  release::GateSettings feature_gates;
  api::catalog::RuntimeConfig runtime_config;
  admission::PluginFlags admission_plugins;
  std::string admission_control_config_file;
  std::int64_t default_not_ready_toleration_seconds = 300;
  std::int64_t default_unreachable_toleration_seconds = 300;
  net::HttpsClient* https = nullptr;  // how webhooks are called; null: they cannot be
  // "namespace/name:port" -> "host:port", where Services are reached.
  std::map<std::string, std::string> webhook_service_map;
  // Who asks; without a name an administrator. The rights that RBAC gives are asked for by policies
  // and by the RBAC escalation check; whether the user may make the request at all is not.
  std::string as;
  std::vector<std::string> as_groups;
  engine::FieldValidation validation = engine::FieldValidation::kStrict;
  bool dry_run = false;
  bool read_only = false;     // plugins write nothing: quotas are checked and not charged
  std::string field_manager;  // "": kubectl's for the verb
};

// A request to the cluster.
struct Request {
  engine::Verb verb = engine::Verb::kCreate;  // all but kWatch
  std::string_view body;                      // JSON or YAML
  std::optional<engine::MediaType> type;      // of the body; nothing: as it looks
  engine::PatchType patch = engine::PatchType::kMerge;
  const api::UserInfo* user = nullptr;  // null: the cluster's
  // What the client asks of the write; null: what kubectl does, with the cluster's field manager.
  const engine::WriteOptions* options = nullptr;
  const engine::DeleteOptions* deletion = nullptr;  // null: kubectl's
  const engine::ListOptions* list = nullptr;        // of kList and kDeleteCollection; null: all
  json::Value parameters;                           // of a connection: PodExecOptions, …
  std::string_view field_manager;                   // "": the cluster's; ignored with `options`
  bool force = false;                               // server-side apply; ignored with `options`
  bool dry_run = false;  // or the cluster's; ignored with `options` and `deletion`
};

class Cluster {
 public:
  // Errors are the user's: a flag's value, a configuration file.
  static base::Result<std::unique_ptr<Cluster>> Create(ClusterOptions options);
  ~Cluster();

  const engine::World& world() const;
  const api::UserInfo& user() const { return user_; }

  // Carries the request out. `op` has been resolved, with its namespace and, but for creates, its
  // name, and has its trace and survey, if any. A connection that is admitted ends with the Status that says why it
  // leads nowhere.
  base::Result<engine::Outcome> Submit(engine::Operation& op, const Request& request);
  // Stores the object past admission; validation still applies.
  base::Status Give(json::Value object, std::string_view ns);

  bool HasNamespace(std::string_view name) const;
  bool HasServiceAccount(std::string_view ns, std::string_view name) const;
  bool HasQuota(std::string_view ns) const;
  // With the service account "default", as the controllers of a cluster would.
  base::Status MakeNamespace(std::string_view name);
  base::Status MakeServiceAccount(std::string_view ns, std::string_view name);
  // `object` as an update of the stored object: with its uid, version and time of creation.
  json::Value AsUpdate(engine::Operation& op, json::Value object) const;
  // The roles and bindings that every cluster begins with. They are made when they are first asked
  // for; a manifest that may be one of them has to find them there.
  base::Status MakeRoles();
  // Removes an object from the store, and nothing with it.
  void Withdraw(const engine::Operation& op, std::string_view name);
  bool Has(const engine::Operation& op, std::string_view name) const;

 private:
  Cluster();
  base::Status Build(ClusterOptions options);
  engine::WriteOptions WriteOptionsOf(engine::Operation& op, const Request& request) const;
  base::Result<engine::Outcome> Delete(engine::Operation& op, const Request& request);
  base::Result<engine::Outcome> Get(engine::Operation& op) const;
  base::Result<engine::Outcome> List(engine::Operation& op, const Request& request) const;
  // What the controllers of a cluster do once an object is there.
  void Follow(const engine::Operation& op, const engine::Outcome& outcome);

  ClusterOptions options_;
  api::UserInfo user_;
  class RolesOnDemand;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace portcullis::offline
