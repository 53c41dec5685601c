// SPDX-License-Identifier: Apache-2.0

// Fiber: work on a stack of its own, which is left where the work waits and gone on with when that is
// over, on the same thread. Plain functions can wait so without holding up their thread.
//
//   Fiber::Run(stacks, [&] { … Fiber::Current()->Leave(); … });  // returns at Leave()
//   fiber->Resume();                                             // goes on behind it
//
// Confined to the thread that runs it, until it moves to another one for good. The work must not
// leave or move with a mutex locked, nor while an exception is being handled. What belongs to a
// thread (errno, the errors of OpenSSL) may have changed when Leave() or Move() returns; and since
// compilers take the id of the thread for constant within a function, no function asks for it on
// both sides of Move().
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace portcullis::base {

// Stacks as large as those of threads, each with a page below it that must not be touched. Those
// that were used last are given out first: their memory is there already. Thread-safe.
class FiberStacks {
 public:
  FiberStacks();
  ~FiberStacks();  // REQUIRES: no fiber is under way on one of them
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  // How many fibers are under way.
  std::size_t in_use() const {
    const MutexLock lock(mutex_);
    return in_use_;
  }

 private:
  friend class Fiber;
  struct Stack {
    char* bottom = nullptr;  // null: there is none
    unsigned uses = 0;
  };

  Stack Take();
  Stack Make() const;
  void Put(Stack stack);
  char* TopOf(const Stack& stack) const { return stack.bottom + size_; }

  const std::size_t size_;
  mutable Mutex mutex_;
  std::size_t in_use_ PC_GUARDED_BY(mutex_) = 0;
  std::vector<Stack> idle_ PC_GUARDED_BY(mutex_);
};

class Fiber {
 public:
  // Whether there are fibers on this kind of processor.
  static constexpr bool kSupported =
#if defined(__x86_64__) || defined(__aarch64__)
      true;
#else
      false;
#endif

  // Runs `work` until it ends or leaves for the first time. An allocation that fails in it ends it.
  // False: there is no stack for it, and it has neither begun nor been moved. May be called on a
  // fiber.
  static bool Run(FiberStacks& stacks, std::function<void()>&& work);
  // The fiber that this is called on; null on a thread's own stack.
  static Fiber* Current();
  // Whether what is called here may hold its thread: it is no fiber, or one that has moved.
  static bool MayHoldThread();

  // Goes back to where the fiber was run or resumed. REQUIRES: this is Current().
  void Leave();
  // Goes on where the fiber has left, until it ends or leaves again; it may be gone then.
  // REQUIRES: it has left.
  void Resume();

  // Where the fiber goes on when it moves: `run` is to call what it is given, once, on a thread that
  // may be held, or to drop it never. May be called on another thread than that. REQUIRES: this is
  // Current().
  using RunElsewhere = std::function<void(std::function<void()>)>;
  void set_elsewhere(RunElsewhere run) { elsewhere_ = std::move(run); }
  // Goes on there, for what takes long; where the fiber was run or resumed goes on as after Leave().
  // Does nothing without set_elsewhere(), or if it has moved. REQUIRES: this is Current().
  void Move();
  // Moves the fiber that this is called on, if there is one.
  static void MoveCurrent();

  // For work of many short steps, before each of them: moves the fiber that this is called on, if there
  // is one and its steps take long: if the first since it was run or resumed began kLong before `now`.
  // Whether it has moved.
  static bool BeginStep(SteadyTime now);
  static constexpr std::chrono::microseconds kLong{300};

  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

 private:
  Fiber(FiberStacks& stacks, FiberStacks::Stack stack, std::function<void()> work);
  ~Fiber();
  [[noreturn]] static void Main() noexcept;
  void Enter();
  void Exit();

  FiberStacks& stacks_;
  const FiberStacks::Stack stack_;
  std::function<void()> work_;
  Fiber* outer_ = nullptr;      // what it was entered from; null: a thread's own stack
  void* own_place_ = nullptr;   // the stack pointer where it goes on
  void* host_place_ = nullptr;  // that of what has entered it
  bool ended_ = false;
  bool moving_ = false;
  bool moved_ = false;
  std::optional<SteadyTime> first_step_;  // since it was entered
  RunElsewhere elsewhere_;
  // What the sanitizers are told; unused otherwise.
  struct Told {
    void* tsan_fiber = nullptr;
    void* tsan_host = nullptr;
    void* asan_fake = nullptr;
    const void* host_bottom = nullptr;
    std::size_t host_size = 0;
  };
  Told told_;
};

}  // namespace portcullis::base
