// SPDX-License-Identifier: Apache-2.0

#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/clock.h"

namespace portcullis::base {
namespace {

static_assert(sizeof(std::atomic<int>) == sizeof(int), "the kernel looks at the bare number");

timespec Deadline(std::chrono::nanoseconds limit) {
  // libstdc++'s steady clock is CLOCK_MONOTONIC, as the kernel's here.
  const auto at = SystemClock().Steady().time_since_epoch() + limit;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  return {static_cast<std::time_t>(seconds.count()), static_cast<long>((at - seconds).count())};
}

}  // namespace

bool FutexWait(const std::atomic<int>& word, int value,
               std::optional<std::chrono::nanoseconds> limit) {
  timespec deadline{};
  if (limit) deadline = Deadline(*limit);
  while (word.load(std::memory_order_acquire) == value) {
    const long result = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value,
                                limit ? &deadline : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
    if (result != 0 && errno == ETIMEDOUT) return word.load(std::memory_order_acquire) != value;
  }
  return true;
}

void FutexWake(const std::atomic<int>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace portcullis::base
