// SPDX-License-Identifier: Apache-2.0

// Backend: the engine whose chain judges, and what its plugins look at: objects of files, and those of a
// cluster.
//
// Thread-safe once created.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admission/request.h"
#include "authz/authorizer.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/engine.h"
#include "kubeconfig/client_config.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "offline/inputs.h"
#include "server/authorization/webhook_authorizer.h"
#include "store/store.h"
#include "webhook_server/mirror.h"
#include "webhook_server/options.h"
#include "webhook_server/plugin_choice.h"

namespace portcullis::webhook_server {

// The objects of --policies. Errors name the place of the first mistake.
base::Result<offline::Inputs> ReadFiles(const Options& options);
// The plugins that the flags and these files choose.
base::Result<PluginChoice> ChooseFor(const Options& options, const offline::Inputs& files,
                                     bool has_cluster);
// Whether there is a cluster: a flag names it, or the process runs in one.
bool HasCluster(const Options& options);

class Backend {
 public:
  // Errors are the operator's: a flag's value, a file. What is given by reference outlives the backend. The
  // cluster may be out of reach: it is followed once it answers.
  static base::Result<std::unique_ptr<Backend>> Create(const Options& options,
                                                       const base::Clock& clock,
                                                       net::HttpsClient& https,
                                                       metrics::Registry& metrics);
  // What a backend of these flags would be refused for, but for its cluster.
  static base::Status Check(const Options& options, const base::Clock& clock,
                            const offline::Inputs& files, PluginChoice choice);
  ~Backend();

  const engine::World& world() const { return engine_->world(); }
  const PluginChoice& choice() const { return choice_; }

  // What is missing before the first review can be judged; empty: nothing.
  std::vector<std::string> Missing() const;

  // Whether a request may wait before it is judged: for objects, or for what the cluster says of its user.
  bool MayWait(const admission::Attributes& request) const;
  // Waits for the objects.
  void Prepare(const admission::Attributes& request);

 private:
  explicit Backend(const base::Clock& clock) : clock_(clock) {}
  base::Status Build(const Options& options, net::HttpsClient& https, metrics::Registry& metrics);
  // Without a client no webhook is called; without a registry nothing is counted.
  base::Status MakeEngine(const Options& options, net::HttpsClient* https,
                          metrics::Registry* metrics);
  base::Status MakeAuthorizer(const kubeconfig::ClientConfig* cluster, net::HttpsClient& https,
                              metrics::Registry& metrics);
  base::Status GiveFiles(const Options& options, const offline::Inputs& files);
  base::Status Give(const offline::Manifest& manifest);
  // Collections whose objects are taken from files: what the plugins read.
  std::set<std::string> WantedKinds(const offline::Inputs& files) const;
  void Follow(const Options& options);
  void WarnOfNothingToRead() const;
  bool KnowsNamespace(const std::string& name) const;

  const base::Clock& clock_;
  PluginChoice choice_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<server::authorization::WebhookMetrics> review_metrics_;
  std::shared_ptr<const authz::Authorizer> authorizer_;
  std::shared_ptr<authz::rbac::RuleBook> roles_;
  std::unique_ptr<engine::Engine> engine_;
  std::set<std::string> kept_;      // what files have: MirrorEnds
  bool asks_cluster_ = false;       // a plugin may ask the cluster who may do what
  std::unique_ptr<Mirror> mirror_;  // null: there is no cluster
  base::Mutex mutex_;
  std::deque<std::string> made_ PC_GUARDED_BY(mutex_);  // namespaces, of requests, the oldest first
};

}  // namespace portcullis::webhook_server
