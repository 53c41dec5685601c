// SPDX-License-Identifier: Apache-2.0

// TimedRatio feeds a histogram with a ratio as if it were observed at the end of every nanosecond:
// how the occupancy of priority levels is told (k8s.io/component-base/metrics, TimingHistogram;
// k8s.io/apiserver/pkg/util/flowcontrol/metrics, TimingRatioHistogram).
//
// The numerator is a small whole number that changes with each request; the time it has had each
// value is kept, and becomes observations only when the denominator changes or somebody looks.
// Confined to one thread or lock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/allocation_failure.h"
#include "base/clock.h"
#include "metrics/metrics.h"

namespace portcullis::flow_control {

class TimedRatio {
 public:
  // `histogram` outlives it.
  TimedRatio(metrics::Histogram& histogram, base::SteadyTime start)
      : histogram_(histogram), last_(start) {}

  // REQUIRES: numerator >= 0.
  void Set(int numerator, base::SteadyTime now) {
    Advance(now);
    numerator_ = static_cast<std::size_t>(numerator);
  }
  void SetDenominator(double denominator, base::SteadyTime now);
  // Brings the histogram up to now.
  void Flush(base::SteadyTime now);

 private:
  void Advance(base::SteadyTime now) {
    if (now <= last_) return;  // read by another thread before its turn
    if (numerator_ >= nanoseconds_.size() && !Grow()) {
      last_ = now;  // without memory for it this time is not counted
      return;
    }
    nanoseconds_[numerator_] += static_cast<std::uint64_t>((now - last_).count());
    last_ = now;
  }

  bool Grow() {
    return base::UnlessMemoryRunsOut([this] { nanoseconds_.resize(numerator_ + 1); });
  }

  metrics::Histogram& histogram_;
  base::SteadyTime last_;
  std::size_t numerator_ = 0;
  double denominator_ = 1;
  std::vector<std::uint64_t> nanoseconds_;  // by numerator, since the last Flush
};

}  // namespace portcullis::flow_control
