// SPDX-License-Identifier: Apache-2.0

// What portcullis-load measures: each scenario prepares the server, says which request is repeated,
// and cleans up after itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "duel.h"
#include "encodings.h"
#include "runner.h"
#include "target.h"
#include "webhooks.h"

namespace portcullis::load {

// Figures of kube-apiserver v1.36 with etcd 3.5, recorded once on a machine with two cores: 16
// keep-alive connections over TLS, load generator and webhook on the same cores.
struct Recorded {
  double requests_per_second = 0;
  double p50_milliseconds = 0;
  double p99_milliseconds = 0;
  double cpu_milliseconds = 0;
};

enum class Work { kCreateConfigMap, kCreatePod, kGet, kList };

struct Scenario {
  std::string_view name;
  std::string_view summary;
  Work work = Work::kCreateConfigMap;
  const Encoding* encoding = &kJson;
  int validating_webhooks = 0;
  int mutating_webhooks = 0;
  int idle_webhooks = 0;  // configured, but for other resources
  int policies = 0;
  int idle_policies = 0;
  int objects = 500;   // what kGet and kList find
  int watchers = 0;    // of the collection, a connection each
  bool paced = false;  // 20 requests a second by each connection, for servers that end slow watches
  Recorded recorded;   // zeros: not recorded
};

const std::vector<Scenario>& Scenarios();

struct ScenarioResult {
  Figures figures;
  double webhook_calls_per_request = 0;
};

// Two servers under the same scenario, in turn.
struct ScenarioDuel {
  ScenarioResult first;
  ScenarioResult second;
  Estimate cpu;  // ratios, first to second
  Estimate rate;
};

// Blocks. Errors are about preparation; failed requests of the load are in the figures.
base::Result<ScenarioResult> RunScenario(const Scenario& scenario, const Target& target,
                                         const WebhookServer& webhooks, const RunOptions& options);

// Each server is under load for options.seconds, in slices that take turns: a ratio of 1.02 can be told
// from 1 on a machine whose speed changes.
base::Result<ScenarioDuel> RunScenarioInTurn(const Scenario& scenario, const Target& first,
                                             const Target& second, const WebhookServer& webhooks,
                                             const RunOptions& options);

}  // namespace portcullis::load
