// SPDX-License-Identifier: Apache-2.0

// process_*: what the system says of this process, as the client library of Prometheus names it
// (https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics). Asked for at each
// exposition.
#pragma once

#include "metrics/metrics.h"

namespace portcullis::metrics {

void AddProcessMetrics(Registry& registry);
// process_start_time_seconds alone.
void AddProcessStart(Registry& registry, Stability stability = Stability::kNone);

// Seconds since the epoch.
double ProcessStart();

}  // namespace portcullis::metrics
