// SPDX-License-Identifier: Apache-2.0

// IoLoop is one of the IoThreads as modules see it that keep state of their own on it: connections of
// an Http2Client, timers, what other threads post. "The loop's thread" is the one that has its turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "net/io_threads.h"

namespace portcullis::net {

// A reference to the loop; copies mean the same. Thread-safe: InThread, Post, RunAndWait, now.
// Everything else only on the loop's thread. It may outlive its IoThreads: what is posted then is
// dropped.
class IoLoop {
 public:
  struct Timer {
    base::SteadyTime time;
    std::uint64_t id = 0;  // 0: none
  };

  explicit IoLoop(IoThreads& threads);  // the next one, round robin
  ~IoLoop();
  IoLoop(const IoLoop&);
  IoLoop& operator=(const IoLoop&) = delete;

  bool InThread() const;
  base::SteadyTime now() const;
  // False if the loop has stopped.
  bool Post(std::function<void()> task) const;
  // Waits until `task` has run, or the loop has stopped; at once on the loop's thread.
  void RunAndWait(const std::function<void()>& task) const;

  // Later in this turn, when the current event has been dealt with.
  void Defer(std::function<void()> task) const;
  Timer At(base::SteadyTime time, std::function<void()> task) const;
  // Also of one that has run already. Resets it.
  void Cancel(Timer& timer) const;

  // For the classes of this module.
  const std::shared_ptr<internal::Loop>& loop() const { return loop_; }

 private:
  std::shared_ptr<internal::Loop> loop_;
};

}  // namespace portcullis::net
