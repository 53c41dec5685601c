// SPDX-License-Identifier: Apache-2.0

// How much work a request is, in seats and seat-seconds
// (k8s.io/apiserver/pkg/util/flowcontrol/request). Value types.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace portcullis::flow_control {

// Seats held over time, in steps of 10 nanoseconds of one seat. Readings of a level's progress
// meter are SeatSeconds too; sums and differences wrap, as their Go counterparts do.
using SeatSeconds = std::uint64_t;

inline constexpr SeatSeconds kMaxSeatSeconds = UINT64_MAX;

SeatSeconds SeatsTimesDuration(double seats, base::Duration duration);
double ToDouble(SeatSeconds work);
base::Duration DurationPerSeat(SeatSeconds work, double seats);
// "0.00300000ss", as the dumps show it.
std::string Format(SeatSeconds work);

// What a request is expected to take, told before it runs.
struct WorkEstimate {
  std::uint64_t initial_seats = 1;  // while it runs
  std::uint64_t final_seats = 0;    // for `additional_latency` after it has been answered
  base::Duration additional_latency{0};

  int max_seats() const { return static_cast<int>(std::max(initial_seats, final_seats)); }
};

}  // namespace portcullis::flow_control
