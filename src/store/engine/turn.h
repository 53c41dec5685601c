// SPDX-License-Identifier: Apache-2.0

// What a writer waits on until it is told to commit the queue, or that its write is committed.
// A futex and nothing around it: a mutex with a condition may not be destroyed as soon as the
// waiter knows.
#pragma once

#include <atomic>

#include "base/futex.h"

namespace portcullis::store {

class Turn {
 public:
  enum Value : int { kWaiting, kAsleep, kLead, kDone };

  // Blocks until Set(); what was set.
  Value Wait() {
    int seen = kWaiting;
    if (value_.compare_exchange_strong(seen, kAsleep)) {
      base::FutexWait(value_, kAsleep);
      seen = value_.load(std::memory_order_acquire);
    }
    return static_cast<Value>(seen);
  }

  // Call once. The waiter may destroy the turn before this returns.
  void Set(Value value) {
    if (value_.exchange(value, std::memory_order_acq_rel) == kAsleep) base::FutexWake(value_);
  }

 private:
  std::atomic<int> value_{kWaiting};
};

}  // namespace portcullis::store
