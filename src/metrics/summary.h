// SPDX-License-Identifier: Apache-2.0

// Quantiles of what was observed during the last five hours, forgotten in steps of one hour, as the
// summaries of kube-apiserver (client_golang: MaxAge 5h, AgeBuckets 5).
//
// Values are counted in buckets that grow by 1/16 of a power of two, so a quantile is off by at most
// 3.2 % of its value; an observation costs two atomic additions and takes no lock. Values below 2^-20
// (1 µs) and above 2^7 (128 s) count as the smallest and the largest that are told apart.
// About 9 KB each. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/clock.h"

namespace portcullis::metrics {

class Summary {
 public:
  explicit Summary(const base::Clock& clock = base::SystemClock());

  void Observe(double value);

  // NaN if nothing has been observed during the last hours.
  double Quantile(double share) const;
  // Since the start.
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kSteps = 5;
  static constexpr int kPerOctave = 16;
  static constexpr int kOctaves = 27;
  static constexpr int kBuckets = kPerOctave * kOctaves;
  using Buckets = std::array<std::atomic<std::uint32_t>, kBuckets>;

  static int BucketOf(double value);
  static double MiddleOf(int bucket);
  // Forgets the steps that are over.
  void Age() const;

  const base::Clock& clock_;
  const base::SteadyTime start_;
  std::atomic<std::uint64_t> count_{0};
  std::atomic<double> sum_{0};
  mutable std::atomic<std::int64_t> step_{0};  // since start_
  mutable std::array<Buckets, kSteps> steps_{};
};

}  // namespace portcullis::metrics
