// SPDX-License-Identifier: Apache-2.0

// Goals: figures to reach, each measured against a baseline of the same run. A goal
// starts its own servers, prepares them, measures, and says whether the target is met.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "duel.h"
#include "objects.h"
#include "options.h"
#include "own_server.h"
#include "runner.h"
#include "webhooks.h"

namespace portcullis::load {

// One line of the table.
struct Finding {
  std::string what;
  std::string figure;    // with its unit
  std::string baseline;  // what it is compared with, with its unit; "" if with nothing
  double ratio = 0;      // to the baseline; 0: none
  double spread = 0;     // how far the ratio may be off; 0: not known
  std::string target;
  bool met = true;
};

// What goals work with.
class Workshop {
 public:
  static base::Result<std::unique_ptr<Workshop>> Open(const Options& options);

  base::Result<std::unique_ptr<OwnServer>> Serve(const std::string& flags = "") {
    return OwnServer::Start(*load_threads_, options_.serve, flags);
  }
  WebhookServer& webhooks() const { return *webhooks_; }
  net::IoThreads& load_threads() { return *load_threads_; }
  net::IoThreads& webhook_threads() { return *webhook_threads_; }
  const Options& options() const { return options_; }

  std::vector<Finding> findings;

 private:
  explicit Workshop(const Options& options) : options_(options) {}
  const Options& options_;
  std::unique_ptr<net::IoThreads> load_threads_;
  std::unique_ptr<net::IoThreads> webhook_threads_;
  std::unique_ptr<WebhookServer> webhooks_;
};

struct Goal {
  std::string_view name;
  std::string_view summary;
  base::Status (*run)(Workshop& shop);
};

const std::vector<Goal>& Goals();

// Measures and prints all that options.goals asks for.
base::Status RunGoals(const Options& options);

// --- for goals ---

// A duel whose second side holds much that must cost a create nothing: within 2 % of the first.
void AddIdle(Workshop& shop, const Duel& duel, std::string_view what);

std::string Format(const char* format, double value);

// Creates /api/v1/namespaces/<ns>/configmaps with numbered names; with `dry` nothing is stored.
MakeRequest CreateConfigMaps(const Target& target, std::string_view ns, bool dry = false);
// POSTs the bodies 0 to count-1 over 16 connections; the first failure is returned.
base::Status CreateMany(const Target& target, std::string_view collection, std::size_t count,
                        const std::function<std::string(std::size_t)>& body);

// One webhook of a configuration, calling `url`.
struct HookText {
  std::string url;
  std::string resource = "configmaps";
  std::string more;  // further members, each with a comma before it
};
base::Status CreateHooks(const Target& target, const WebhookServer& webhooks, std::string_view name,
                         const std::vector<HookText>& hooks);

// The goals, by file.
base::Status WebhookOverhead(Workshop& shop);
base::Status IdleWebhooks(Workshop& shop);
base::Status ManyBackends(Workshop& shop);
base::Status DeadWebhooks(Workshop& shop);
base::Status MatchingPolicies(Workshop& shop);
base::Status IdlePolicies(Workshop& shop);
base::Status ManyBindings(Workshop& shop);
base::Status PolicyMemory(Workshop& shop);
base::Status WatchMemory(Workshop& shop);
base::Status ListPods(Workshop& shop);
base::Status ProtobufBesideJson(Workshop& shop);
base::Status CborBesideJson(Workshop& shop);
base::Status StoredObjects(Workshop& shop);
base::Status DefinitionMemory(Workshop& shop);

}  // namespace portcullis::load
