// SPDX-License-Identifier: Apache-2.0

#include "metrics/summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace portcullis::metrics {
namespace {

constexpr int kSmallestExponent = -20;
constexpr int kMantissaBits = 52;
constexpr int kBucketBits = 4;  // of the mantissa: 16 buckets for each power of two
constexpr std::int64_t kExponentBias = 1023;
constexpr auto kStep = std::chrono::hours(1);
// The clock is read once for so many observations.
constexpr std::uint64_t kAgeEvery = 64;

}  // namespace

Summary::Summary(const base::Clock& clock) : clock_(clock), start_(clock.Steady()) {}

// Exponent and first bits of the mantissa are the bits of a double from the left.
int Summary::BucketOf(double value) {
  static_assert(kPerOctave == 1 << kBucketBits);
  if (!(value > 0)) return 0;
  const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value));
  const std::int64_t first = (kExponentBias + kSmallestExponent) << kBucketBits;
  const std::int64_t bucket = (bits >> (kMantissaBits - kBucketBits)) - first;
  return static_cast<int>(std::clamp<std::int64_t>(bucket, 0, kBuckets - 1));
}

double Summary::MiddleOf(int bucket) {
  const double part = 1 + (bucket % kPerOctave + 0.5) / kPerOctave;
  return std::ldexp(part, kSmallestExponent + bucket / kPerOctave);
}

void Summary::Age() const {
  const std::int64_t now = (clock_.Steady() - start_) / kStep;
  std::int64_t seen = step_.load(std::memory_order_relaxed);
  if (now <= seen || !step_.compare_exchange_strong(seen, now, std::memory_order_relaxed)) return;
  for (std::int64_t step = std::max(seen + 1, now - kSteps + 1); step <= now; ++step) {
    for (auto& bucket : steps_[static_cast<std::size_t>(step % kSteps)]) {
      bucket.store(0, std::memory_order_relaxed);
    }
  }
}

void Summary::Observe(double value) {
  if (count_.fetch_add(1, std::memory_order_relaxed) % kAgeEvery == 0) Age();
  double seen = sum_.load(std::memory_order_relaxed);
  while (!sum_.compare_exchange_weak(seen, seen + value, std::memory_order_relaxed)) {
  }
  const auto step = static_cast<std::size_t>(step_.load(std::memory_order_relaxed) % kSteps);
  steps_[step][static_cast<std::size_t>(BucketOf(value))].fetch_add(1, std::memory_order_relaxed);
}

double Summary::Quantile(double share) const {
  Age();
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t total = 0;
  for (const Buckets& step : steps_) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::uint32_t count = step[i].load(std::memory_order_relaxed);
      counts[i] += count;
      total += count;
    }
  }
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total)));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    if (below >= std::max<std::uint64_t>(rank, 1)) return MiddleOf(static_cast<int>(i));
  }
  return MiddleOf(kBuckets - 1);
}

}  // namespace portcullis::metrics
