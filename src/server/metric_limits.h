// SPDX-License-Identifier: Apache-2.0

// What the flags of metrics ask for: --allow-metric-labels and its manifest, --disabled-metrics and
// --show-hidden-metrics-for-version.
#pragma once

#include <string>
#include <vector>

#include "metrics/metrics.h"
#include "server/options.h"

namespace portcullis::server {

// What is wrong with them, in kube-apiserver's texts.
void CheckMetricFlags(const Options& options, std::vector<std::string>& problems);

// REQUIRES: CheckMetricFlags() found nothing. A manifest that has gone since limits nothing.
metrics::Limits MetricLimits(const Options& options);

}  // namespace portcullis::server
