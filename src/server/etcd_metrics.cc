// SPDX-License-Identifier: Apache-2.0

#include "server/etcd_metrics.h"

#include <chrono>

namespace portcullis::server {

EtcdMetrics::EtcdMetrics(metrics::Registry& registry)
    : durations_(registry.AddHistogram(
          {"etcd_request_duration_seconds",
           "Etcd request latency in seconds for each operation and object type."},
          {"operation", "group", "resource"},
          {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2,
           3,     4,     5,    6,   8,   10,  15,  20,  30,  45,   60})),
      requests_(registry.AddCounter(
          {"etcd_requests_total", "Etcd request counts for each operation and object type."},
          {"operation", "group", "resource"})),
      errors_(
          registry.AddCounter({"etcd_request_errors_total",
                               "Etcd failed request counts for each operation and object type."},
                              {"operation", "group", "resource"})),
      events_(registry.AddCounter(
          {"apiserver_storage_events_received_total",
           "Number of etcd events received split by kind.", metrics::Stability::kBeta},
          {"group", "resource"})),
      decode_errors_(
          registry.AddCounter({"apiserver_storage_decode_errors_total",
                               "Number of stored object decode errors split by object type"},
                              {"group", "resource"})),
      bookmarks_(
          registry.AddCounter({"etcd_bookmark_total",
                               "Number of etcd bookmarks (progress notify events) split by kind."},
                              {"group", "resource"})),
      size_(registry.AddGauge({"apiserver_storage_size_bytes",
                               "Size of the storage database file physically allocated in bytes.",
                               metrics::Stability::kStable},
                              {"storage_cluster_id"})) {}

void EtcdMetrics::OnRequest(std::string_view operation, const store::Collection& collection,
                            bool ok, base::Duration elapsed) {
  durations_.With({operation, collection.group, collection.resource})
      .Observe(std::chrono::duration<double>(elapsed).count());
  requests_.With({operation, collection.group, collection.resource}).Increment();
  if (!ok) errors_.With({operation, collection.group, collection.resource}).Increment();
}

void EtcdMetrics::OnEvent(const store::Collection& collection) {
  events_.With({collection.group, collection.resource}).Increment();
}

void EtcdMetrics::OnDecodeError(const store::Collection& collection) {
  decode_errors_.With({collection.group, collection.resource}).Increment();
}

// One watch brings the events of all kinds.
void EtcdMetrics::OnBookmark() { bookmarks_.With({"", ""}).Increment(); }

// kube-apiserver leaves it out while etcd does not answer.
void EtcdMetrics::OnDatabaseSize(std::int64_t bytes) {
  constexpr std::string_view kCluster = "etcd-0";
  if (bytes < 0) return size_.Remove({kCluster});
  size_.With({kCluster}).Set(static_cast<double>(bytes));
}

}  // namespace portcullis::server
