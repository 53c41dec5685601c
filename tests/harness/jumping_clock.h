// SPDX-License-Identifier: Apache-2.0

// JumpingClock is a clock for servers whose wall time tests set. Its steady time goes on with that of
// the machine, by which connections count.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace portcullis::testing {

// The machine's clock, its wall time moved; Pass() lets time pass.
class JumpingClock final : public base::Clock {
 public:
  base::WallTime Now() const override {
    return base::SystemClock().Now() + std::chrono::seconds(offset_ + passed_);
  }
  base::SteadyTime Steady() const override {
    return base::SystemClock().Steady() + std::chrono::seconds(passed_);
  }
  void JumpTo(std::chrono::seconds offset) { offset_ = offset.count(); }
  void Pass(std::chrono::seconds time) { passed_ += time.count(); }

 private:
  std::atomic<std::int64_t> offset_{0};
  std::atomic<std::int64_t> passed_{0};
};

}  // namespace portcullis::testing
