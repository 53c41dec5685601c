// SPDX-License-Identifier: Apache-2.0

// HookSeries: the metrics that the good calls of a webhook add to. They are kept with the webhook,
// because to look them up by their labels costs more than to add to them.
#pragma once

#include <array>
#include <atomic>

#include "metrics/metrics.h"

namespace portcullis::webhook {

// Null until first needed: what has never occurred does not appear among the metrics. Thread-safe.
struct HookSeries {
  struct Allowed {
    std::atomic<metrics::Histogram*> duration{nullptr};
    std::atomic<metrics::Counter*> requests{nullptr};
  };
  std::array<Allowed, 4> allowed;  // by operation
  std::atomic<metrics::Counter*> http_200{nullptr};
  std::atomic<metrics::Histogram*> http_latency{nullptr};
  std::atomic<metrics::Histogram*> http_request_size{nullptr};
  std::atomic<metrics::Histogram*> http_response_size{nullptr};
};

}  // namespace portcullis::webhook
