// What a writer waits on until it is told to commit the queue, or that its write is committed.
//
// A futex of Linux and nothing around it: std::atomic::wait spins with sched_yield() first, which
// cost a tenth of the processor time of a create; a mutex with a condition may not be destroyed as
// soon as the waiter knows.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace portcullis::store {

class Turn {
 public:
  enum Value : int { kWaiting, kAsleep, kLead, kDone };

  // Blocks until Set(); what was set.
  Value Wait() {
    int seen = kWaiting;
    if (value_.compare_exchange_strong(seen, kAsleep)) seen = kAsleep;
    while (seen == kAsleep) {
      syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, kAsleep, nullptr, nullptr, 0);
      seen = value_.load(std::memory_order_acquire);
    }
    return static_cast<Value>(seen);
  }

  // Call once. The waiter may destroy the turn before this returns; waking an address that nobody
  // waits at does no harm.
  void Set(Value value) {
    if (value_.exchange(value, std::memory_order_acq_rel) != kAsleep) return;
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<int> value_{kWaiting};
  static_assert(sizeof(std::atomic<int>) == sizeof(int), "the kernel looks at the bare number");
};

}  // namespace portcullis::store
