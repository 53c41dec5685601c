// SPDX-License-Identifier: Apache-2.0

#include "metrics/watch_metrics.h"

namespace portcullis::metrics {

WatchMetrics::WatchMetrics(Registry& registry)
    : events(registry.AddCounter(
          {"apiserver_watch_events_total", "Number of events sent in watch clients"},
          {"group", "version", "resource"})),
      sizes(registry.AddHistogram(
          {"apiserver_watch_events_sizes", "Watch event size distribution in bytes"},
          {"group", "version", "resource"}, {1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072})),
      list_duration(registry.AddHistogram(
          {"apiserver_watch_list_duration_seconds",
           "Response latency distribution in seconds for watch list requests broken by group, "
           "version, resource and scope.",
           Stability::kBeta},
          {"group", "version", "resource", "scope"},
          {0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60})),
      initial_events(registry.AddCounter(
          {"apiserver_init_events_total",
           "Counter of init events processed in watch cache broken by resource type."},
          {"group", "resource"})),
      ended_unread(registry.AddCounter(
          {"apiserver_terminated_watchers_total",
           "Counter of watchers closed due to unresponsiveness broken by resource type."},
          {"group", "resource"})),
      received(registry.AddCounter(
          {"apiserver_watch_cache_events_received_total",
           "Counter of events received in watch cache broken by resource type."},
          {"group", "resource"})),
      dispatched(registry.AddCounter(
          {"apiserver_watch_cache_events_dispatched_total",
           "Counter of events dispatched in watch cache broken by resource type."},
          {"group", "resource"})),
      resource_version(registry.AddGauge(
          {"apiserver_watch_cache_resource_version",
           "Current resource version of watch cache broken by resource type. This is truncated to "
           "the 15 least significant digits."},
          {"group", "resource"})) {}

}  // namespace portcullis::metrics
