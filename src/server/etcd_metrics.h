// SPDX-License-Identifier: Apache-2.0

// What kube-apiserver tells in /metrics of its work with etcd, under its names. Thread-safe.
#pragma once

#include "metrics/metrics.h"
#include "store/etcd/etcd_observer.h"

namespace portcullis::server {

class EtcdMetrics final : public store::EtcdObserver {
 public:
  // `registry` outlives it.
  explicit EtcdMetrics(metrics::Registry& registry);

  void OnRequest(std::string_view operation, const store::Collection& collection, bool ok,
                 base::Duration elapsed) override;
  void OnEvent(const store::Collection& collection) override;
  void OnDecodeError(const store::Collection& collection) override;
  void OnBookmark() override;
  void OnDatabaseSize(std::int64_t bytes) override;

 private:
  metrics::Family<metrics::Histogram>& durations_;
  metrics::Family<metrics::Counter>& requests_;
  metrics::Family<metrics::Counter>& errors_;
  metrics::Family<metrics::Counter>& events_;
  metrics::Family<metrics::Counter>& decode_errors_;
  metrics::Family<metrics::Counter>& bookmarks_;
  metrics::Family<metrics::Gauge>& size_;
};

}  // namespace portcullis::server
