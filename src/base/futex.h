// SPDX-License-Identifier: Apache-2.0

// The kernel's wait on a number in memory (futex(2)), for the few places where each microsecond of
// a request counts: std::atomic::wait spins with sched_yield() before it sleeps (a tenth of the
// processor time of a create), and who is woken from a condition variable always makes one more
// system call for its mutex.
//
// Thread-safe. Linux only.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

namespace portcullis::base {

// Blocks while `word` is `value`. False: still so after `limit`.
bool FutexWait(const std::atomic<int>& word, int value,
               std::optional<std::chrono::nanoseconds> limit = std::nullopt);

// Wakes one that waits there. `word` may be gone already: then no thread waits there, or
// another one that looks at its own number again.
void FutexWake(const std::atomic<int>& word);

}  // namespace portcullis::base
