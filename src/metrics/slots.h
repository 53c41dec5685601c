// SPDX-License-Identifier: Apache-2.0

// Slots: the metrics of a family with one label of few values, found by number. Each is looked up
// when it is first used: what has never occurred does not appear among the metrics. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "metrics/metrics.h"

namespace portcullis::metrics {

template <typename Metric, std::size_t kCount>
class Slots {
 public:
  using Values = std::array<std::string_view, kCount>;
  // `values` and the family outlive it.
  Slots(Family<Metric>& family, const Values& values) : family_(family), values_(values) {}

  Metric& operator[](std::size_t index) const {
    Metric* metric = found_[index].load(std::memory_order_acquire);
    if (metric == nullptr) {
      metric = &family_.With({values_[index]});
      found_[index].store(metric, std::memory_order_release);
    }
    return *metric;
  }

 private:
  Family<Metric>& family_;
  const Values& values_;
  mutable std::array<std::atomic<Metric*>, kCount> found_{};
};

}  // namespace portcullis::metrics
