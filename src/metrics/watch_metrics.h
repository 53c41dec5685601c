// SPDX-License-Identifier: Apache-2.0

// What watches and lists get, by kube-apiserver's names, labels and buckets. One instance per server.
// Thread-safe. Source: /metrics of kube-apiserver v1.36.
#pragma once

#include <cstddef>
#include <string_view>

#include "metrics/metrics.h"

namespace portcullis::metrics {

// The metrics that one watch adds to.
struct WatchSeries {
  Counter& events;
  Histogram& sizes;

  void Sent(std::size_t bytes) const {
    events.Increment();
    sizes.Observe(static_cast<double>(bytes));
  }
};

struct WatchMetrics {
  explicit WatchMetrics(Registry& registry);

  WatchSeries Of(std::string_view group, std::string_view version,
                 std::string_view resource) const {
    return {events.With({group, version, resource}), sizes.With({group, version, resource})};
  }

  Family<Counter>& events;           // group, version, resource
  Family<Histogram>& sizes;          // group, version, resource
  Family<Histogram>& list_duration;  // group, version, resource, scope
  Family<Counter>& initial_events;   // group, resource
  Family<Counter>& ended_unread;     // group, resource
  Family<Counter>& received;         // group, resource
  Family<Counter>& dispatched;       // group, resource
  Family<Gauge>& resource_version;   // group, resource
};

}  // namespace portcullis::metrics
