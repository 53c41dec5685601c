// SPDX-License-Identifier: Apache-2.0

// A clock that stands still until the test moves it. Thread-safe.
#pragma once

#include <mutex>

#include "base/clock.h"

namespace portcullis::base {

class FakeClock final : public Clock {
 public:
  // Starts at 2026-01-01T00:00:00Z unless told otherwise.
  explicit FakeClock(WallTime start = WallTime(std::chrono::seconds(1767225600))) : now_(start) {}

  WallTime Now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  SteadyTime Steady() const override {
    const std::lock_guard lock(mutex_);
    return steady_;
  }
  void Advance(Duration duration) {
    const std::lock_guard lock(mutex_);
    now_ += std::chrono::duration_cast<WallTime::duration>(duration);
    steady_ += duration;
  }
  // Sets the wall clock, as an administrator would; the steady clock goes on as before.
  void JumpBy(Duration duration) {
    const std::lock_guard lock(mutex_);
    now_ += std::chrono::duration_cast<WallTime::duration>(duration);
  }

 private:
  mutable std::mutex mutex_;
  WallTime now_;
  SteadyTime steady_{};
};

}  // namespace portcullis::base
