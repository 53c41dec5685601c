// SPDX-License-Identifier: Apache-2.0

// Judging manifests: each is a request to create its object in a cluster that has what all of them
// give, and what it would make (the pods of a Deployment) is judged with it. A manifest whose object is
// stored already (Inputs::given) is an update of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admission/survey.h"
#include "base/status.h"
#include "offline/cluster.h"
#include "offline/expand.h"
#include "offline/inputs.h"
#include "offline/pattern.h"
#include "offline/progress.h"
#include "offline/result.h"

namespace portcullis::offline {

// What manifests ask for.
enum class Asks : std::uint8_t { kCreateOrUpdate, kApply, kDelete };

class CoverageCounter;  // offline/coverage.h

// Tries whether webhooks can be reached by TLS; the command has the sockets. Confined to one thread.
class Handshakes {
 public:
  virtual ~Handshakes() = default;
  // Why the TLS of what the clientConfig of a webhook names fails, in Go's words; "" if it does not, or if
  // nothing can be reached there.
  virtual std::string ErrorOf(json::Value client_config) = 0;
};

struct JudgeOptions {
  ClusterOptions cluster;
  std::string ns;                          // -n: of manifests that name none
  Asks asks = Asks::kCreateOrUpdate;       // of the inputs' own manifests; others are created
  bool force_conflicts = false;            // of kApply: take fields from other managers
  bool expand = true;                      // what workloads would make is judged too
  std::vector<PodTemplate> pod_templates;  // of kinds that Kubernetes does not have
  bool traces = false;                     // of the manifests that are the inputs' own
  bool strict = false;                     // missing namespaces and service accounts are not made
  bool fail_fast = false;                  // the first denial ends it
  bool corrects = false;                   // of RunTests(): say what would make cases pass
  bool covers = false;                     // of RunTests(): say what the cases reach of policies
  CoverageCounter* coverage = nullptr;     // of one cluster: counts that
  Progress* progress = nullptr;            // hears of each request; thread-safe
  kube_cel::Watch* watch = nullptr;        // of all requests but of cases with `coverage`
  std::optional<Pattern> run;              // only cases and manifests whose names it finds
  std::size_t threads = 0;                 // of RunTests(); 0: one for each processor
  // Which webhooks are called; null: all. Outlives the call.
  const admission::WebhookStandIn* stand_in = nullptr;
  // Of Lint(): of webhooks that are called. Null: none is. Outlives the call.
  Handshakes* handshakes = nullptr;
};

// The report's results are in the order of the manifests. Errors are the user's: a flag's value, a
// configuration file.
base::Result<Report> Judge(const Inputs& inputs, const JudgeOptions& options);

// Runs the test files among the inputs, each in a cluster of its own; a result for each case.
base::Result<Report> RunTests(const Inputs& inputs, const JudgeOptions& options);

}  // namespace portcullis::offline
