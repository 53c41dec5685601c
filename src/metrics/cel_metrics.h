// SPDX-License-Identifier: Apache-2.0

// apiserver_cel_*: the rules of custom resources, as kube-apiserver measures them. Thread-safe.
#pragma once

#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::metrics {

struct CelMetrics {
  CelMetrics(Registry& registry, const base::Clock& clock);

  const base::Clock& clock;  // they are measured by it

  Histogram& compilation;  // of all rules of a schema
  Histogram& evaluation;   // of all rules of an object
};

}  // namespace portcullis::metrics
