// SPDX-License-Identifier: Apache-2.0

// Clock is where time comes from, so that tests can hold it still.
//
// Thread-safe. Wall time is used for what is written into objects, steady time for deadlines.
#pragma once

#include <chrono>
#include <string>

namespace portcullis::base {

using WallTime = std::chrono::system_clock::time_point;
using SteadyTime = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Now() const = 0;
  virtual SteadyTime Steady() const = 0;
};

// The machine's clock; lives for ever.
const Clock& SystemClock();

// RFC 3339 in UTC: "2026-01-02T03:04:05Z", as metav1.Time is written.
std::string FormatTime(WallTime time);
// With six digits of fraction: "2026-01-02T03:04:05.000006Z", as metav1.MicroTime is written.
std::string FormatMicroTime(WallTime time);
// As Go's time.Duration prints: "1.5s", "2m0s", "300ms", "0s".
std::string FormatDuration(Duration duration);

}  // namespace portcullis::base
