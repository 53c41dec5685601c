// SPDX-License-Identifier: Apache-2.0

// Measures a family at n, 2n, 4n and 8n and judges how its cost grows with its bytes.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "family.h"
#include "meter.h"
#include "subject.h"

namespace portcullis::cost_law {

constexpr std::size_t kSizes = 4;  // n, 2n, 4n, 8n

struct Limits {
  std::size_t bytes = 96 << 10;  // of a request at 8n
  // What a byte may cost at 8n, as a multiple of what it costs at n. n log n gives 1.3 from 1,000
  // to 8,000; caches that overflow add their part to processor time.
  double work_growth = 2.2;
  double memory_growth = 2;
};

struct Finding {
  enum class Verdict { kHolds, kGrows, kNotMade };
  Verdict verdict = Verdict::kHolds;
  std::string why;  // what grows, or why the request could not be made
  int status = 0;   // of the answer at 8n
  std::array<std::size_t, kSizes> n{};
  std::array<double, kSizes> bytes{};
  // Without what the smallest request of the family costs.
  std::array<Cost, kSizes> cost{};

  double WorkGrowth() const;    // per byte, from n to 8n
  double MemoryGrowth() const;  // of the peak, likewise
  double AllocationGrowth() const;
};

Finding Measure(Subject& subject, Meter& meter, const Family& family, const Limits& limits);

}  // namespace portcullis::cost_law
