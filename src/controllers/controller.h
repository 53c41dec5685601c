// SPDX-License-Identifier: Apache-2.0

// A Controller keeps something true that no single request keeps true: it hears of every commit and
// acts through the API until the world is as it should be (Kubernetes documentation,
// "Controllers"). Reconciling is idempotent: it looks at the state, not at the event.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/clock.h"
#include "base/published.h"
#include "base/status.h"
#include "controllers/client.h"
#include "json/value.h"
#include "release/release.h"
#include "store/store.h"

namespace portcullis::kube_cel {
class Compiler;
}
namespace portcullis::registry {
class ServiceNetwork;
}

namespace portcullis::controllers {

struct NamespaceLeftovers;

// Aggregated API servers, by the names of their APIServices. Blocks, for ten seconds at most.
class AggregatedServers {
 public:
  virtual ~AggregatedServers() = default;
  // Whether the discovery document of the version is answered. Errors have kube-aggregator's texts.
  virtual base::Status Check(const std::string& name) = 0;
  // Gets what discovery shows of the version anew. Not OK: what is shown is stale.
  virtual base::Status Discover(const std::string& name) = 0;
  // Deletes, as that user, all that they hold of a namespace; `left` receives what is left, and why.
  // What takes more than ten seconds, or comes after `is_stopping` is set, is not done, which `left`
  // tells as errors.
  virtual void EmptyNamespace(const std::string& ns, const Identity& user,
                              const std::atomic<bool>& is_stopping, NamespaceLeftovers& left) = 0;
};

// Everything a controller works with; outlives it.
struct ControllerContext {
  const store::Reader& store;  // reads
  Client& client;              // writes
  const base::Published<api::catalog::Catalog>& catalog;
  const base::Clock& clock;
  kube_cel::Compiler& compiler;
  std::string root_ca;                      // PEM of the authority behind the serving certificate
  const release::Release& release;          // whose behaviour is served
  const registry::ServiceNetwork* network;  // the addresses of Services
  bool initializers = false;                // objects may have initializers left (docs/legacy.md)
  std::string service_address = {};         // of the Service kubernetes
  int server_port = 0;                      // to which it leads; 0: 6443
  AggregatedServers* aggregated = nullptr;  // null: they are not called
};

// When to look again at what depends on objects that cannot be decrypted (store/readable.h); they may be, with
// another key.
inline constexpr base::Duration kReadAgain = std::chrono::seconds(30);

// Takes keys of work; the same key waiting twice is done once. Thread-safe.
using Enqueue = std::function<void(std::string key)>;

class Controller {
 public:
  virtual ~Controller() = default;

  // Objects that exist when the controller starts arrive as kAdded. Called on the committing
  // thread: must be quick, must not use the client, may look at the event and enqueue keys.
  virtual void OnEvent(const store::Event& event, const Enqueue& enqueue) = 0;

  // Works on one key, on the controller's own thread. A duration asks for the key again after it.
  virtual std::optional<base::Duration> Reconcile(const std::string& key) = 0;

  // The runner stops: a Reconcile that takes seconds ends early. On any thread.
  virtual void Interrupt() {}
};

// What is known of a controller before it is made; each file exports one.
struct ControllerInfo {
  std::string_view name;  // as in --controllers: "namespace-controller"
  // Its service account in kube-system; with a colon, a user ("system:kube-scheduler"); empty: the
  // server itself.
  std::string_view account;
  std::string_view summary;
  std::unique_ptr<Controller> (*create)(const ControllerContext& context);
  // It puts something into every new namespace, whose name is then its key of work.
  bool furnishes_namespaces = false;
  // It hears of objects that have initializers left, too.
  bool sees_uninitialized = false;
  // The collections whose changes it receives; empty: all. The others cost a commit nothing.
  std::span<const store::Collection> hears;
  // The name by which --controllers asks for it together with others. Such a controller is off
  // unless its name or its group's is given.
  std::string_view group;
};

// The group of those that make pods of workloads and let them run.
inline constexpr std::string_view kWorkloads = "workloads";

// All controllers, in alphabetical order.
const std::vector<const ControllerInfo*>& AllControllers();

// Those that a --controllers list asks for: "*" (the default) all that are on by default, "-name" all
// but that one, "name" that one. A group's name is that of all its members; a list of nothing but
// groups leaves the others as by default. An unknown name is an error that names the known ones.
base::Result<std::vector<const ControllerInfo*>> SelectControllers(
    const std::vector<std::string>& list);

}  // namespace portcullis::controllers
