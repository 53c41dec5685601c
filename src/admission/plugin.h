// SPDX-License-Identifier: Apache-2.0

// What a member of the admission chain is, and what it is given to work with.
//
// A plugin is a folder below src/plugins/ that exports one descriptor, kPlugin; the registry is
// generated from the folders (plugins/CMakeLists.txt), the order is plugins/order.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/request.h"
#include "admission/usage_history.h"
#include "base/status.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::base {
class Clock;
}
namespace portcullis::metrics {
class Registry;
}
namespace portcullis::store {
class Reader;
}
namespace portcullis::authz {
class Authorizer;
}
namespace portcullis::net {
class HttpsClient;
}
namespace portcullis::kube_cel {
class Compiler;
}

namespace portcullis::admission {

class ObjectInterfaces;
class ServiceResolver;
namespace match {
class ConditionEvaluator;
}

// One member of the admission chain: a rule, or a small family of rules, asked about every write.
//
// Threads: the chain calls one instance from many threads at once, therefore both methods are
// const. A plugin that keeps state guards it itself and says so in its class comment.
class Plugin {
 public:
  virtual ~Plugin() = default;

  // May replace request.object(). Calling it twice must give the same object: the chain calls again
  // when a later plugin or webhook has changed something.
  virtual base::Status Mutate(Request& request) const;

  // Accepts with OK or refuses. Cannot change the object: the request is const.
  virtual base::Status Validate(const Request& request) const;
};

// A plugin's part of the file of --admission-control-config-file, or of the file it points to.
struct PluginConfig {
  // The bytes, JSON or YAML; for an inline `configuration` its JSON.
  std::string text;
  // The parsed document; null if the text does not parse (`error` says why).
  json::Document document;
  base::Status error;
  // Paths of keys that occur twice, as strict decoding of JSON reports them.
  std::vector<std::string> duplicate_fields;
  // The same of YAML: "" or `yaml: unmarshal errors:\n  line 3: key "a" already set in map`.
  std::string duplicate_yaml_keys;
};

// How a plugin writes to the cluster (NamespaceAutoProvision, ResourceQuota): as the server itself,
// through defaulting and validation, past admission.
class ClusterWriter {
 public:
  virtual ~ClusterWriter() = default;
  virtual base::Status Create(const api::GroupVersionResource& resource,
                              std::string_view namespace_name, json::Value object) = 0;
  // Replaces the status subresource; Conflict if the object's resourceVersion is not the current.
  // On success returns the stored object.
  virtual base::Result<json::Document> UpdateStatus(const api::GroupVersionResource& resource,
                                                    std::string_view namespace_name,
                                                    std::string_view name, json::Value object) = 0;
};

// Tells plugins about objects. The callback runs once for each existing object before Watch()
// returns; afterwards for each committed change, after it is durable and before it is acknowledged
// to the client, in the order of commits and never concurrently with itself. `object` is null once
// the object is gone. Lets snapshots of configurations be published before the write that made them
// returns.
class ObjectFeed {
 public:
  struct Change {
    std::string_view namespace_name;
    std::string_view name;
    // The object in its storage version, or null. Keeps itself alive.
    json::Document object;
  };
  using Callback = std::function<void(const std::vector<Change>&)>;
  virtual ~ObjectFeed() = default;
  // Until the returned handle dies.
  virtual std::shared_ptr<void> Watch(std::string_view group, std::string_view resource,
                                      Callback callback) = 0;
};

// Everything a plugin may need; it arrives in its factory, so that no half-initialised plugin
// exists. All pointers outlive the plugin. Optional ones may be null, as in unit tests.
struct PluginContext {
  std::string_view name;                 // of the plugin being made
  const PluginConfig* config = nullptr;  // null: no configuration given
  const store::Reader* reader = nullptr;
  const base::Clock* clock = nullptr;
  const authz::Authorizer* authorizer = nullptr;
  metrics::Registry* metrics = nullptr;
  std::string_view server_identity;  // "apiserver-<hash>", for metrics; "" outside a server
  ClusterWriter* writer = nullptr;
  ObjectFeed* feed = nullptr;
  const ObjectInterfaces* objects = nullptr;  // defaulting, decoding and conversion of any kind
  const match::ConditionEvaluator* conditions = nullptr;  // null: no CEL in this build
  kube_cel::Compiler* compiler = nullptr;                 // null: a plugin makes its own
  net::HttpsClient* https = nullptr;                      // how webhooks are reached
  const ServiceResolver* services = nullptr;  // where Services of the cluster are reached
  // What external admission hooks are shown: --proxy-client-cert-file, --proxy-client-key-file; ""
  // for nothing.
  std::string_view proxy_client_cert_file;
  std::string_view proxy_client_key_file;
  UsageHistoryOptions usage_history;
  // --default-not-ready-toleration-seconds, --default-unreachable-toleration-seconds
  std::int64_t default_not_ready_toleration_seconds = 300;
  std::int64_t default_unreachable_toleration_seconds = 300;
  // Whose behaviour is asked for, with its feature gates.
  const release::Release* release = &release::Release::Newest();
  // Objects may have metadata.initializers (docs/legacy.md).
  bool initializers = false;
};

enum class Default : std::uint8_t { kOff, kOn };

// What the chain knows about a plugin before making one. Each plugin folder exports one: kPlugin.
struct PluginInfo {
  std::string_view name;      // as users write it: "AlwaysPullImages"
  std::string_view summary;   // one line for `plugins list` and docs/plugins.md
  Phases phases = 0;          // kMutate | kValidate
  Operations operations = 0;  // other operations never reach the plugin
  // Resources that it acts on, others it leaves alone: "pods pods/resize jobs.batch"; "": any.
  std::string_view resources = {};
  // Collections that it looks at, "limitranges storageclasses.storage.k8s.io". The parameters of
  // policies come on top.
  std::string_view reads = {};
  Default by_default = Default::kOff;
  base::Result<std::unique_ptr<Plugin>> (*create)(const PluginContext& context) = nullptr;
  // One line on the configuration it reads; empty if it reads none.
  std::string_view configuration = {};
  // The releases v1.<since> to v1.<until> that have it; 0 for open ends.
  int since_minor = 0;
  int until_minor = 0;
  // Kubernetes dropped it with v1.<until_minor>; here every release has it for those who list it.
  bool legacy = false;
  // Operations besides, where there are initializers.
  Operations with_initializers = 0;
};

}  // namespace portcullis::admission
