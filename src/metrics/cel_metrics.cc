// SPDX-License-Identifier: Apache-2.0

#include "metrics/cel_metrics.h"

namespace portcullis::metrics {
namespace {

const std::vector<double> kSeconds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

Histogram& Add(Registry& registry, const char* name, const char* help) {
  return registry.AddHistogram({name, help, Stability::kBeta}, {}, kSeconds).With({});
}

}  // namespace

CelMetrics::CelMetrics(Registry& registry, const base::Clock& its_clock)
    : clock(its_clock),
      compilation(Add(registry, "apiserver_cel_compilation_duration_seconds",
                      "CEL compilation time in seconds.")),
      evaluation(Add(registry, "apiserver_cel_evaluation_duration_seconds",
                     "CEL evaluation time in seconds.")) {}

}  // namespace portcullis::metrics
