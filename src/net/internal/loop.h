// SPDX-License-Identifier: Apache-2.0

// Loop is one thread's event loop: readiness of sockets (epoll, edge-triggered), timers, and tasks
// posted from other threads.
//
// Why not Asio's: a TLS stream here works on the socket itself and needs to know no more than
// "something has changed" once per edge, so one epoll registration per connection serves its whole
// life, and nothing is allocated per operation.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fiber.h"
#include "base/mutex.h"
#include "base/status.h"

struct epoll_event;

namespace portcullis::net::internal {

// What has happened to a socket. `hangup`: the peer will send no more (data may still be waiting);
// `broken`: nothing can be sent either.
struct Readiness {
  bool readable = false;
  bool writable = false;
  bool hangup = false;
  bool broken = false;
};

// Receives the events of one socket, on the loop's thread.
class Sink {
 public:
  virtual ~Sink() = default;
  // If an allocation fails in it, the loop goes on; a sink that is to end then sees to it itself.
  virtual void OnReady(Readiness readiness) = 0;
};

// What belongs to a loop belongs to the thread that has its turn: its own but while that sleeps, when
// RunOrPost lets the caller take the turn instead of waking it. "The loop's thread" means that one.
//
// An allocation that fails in an event, a task or a timer ends that one; the loop goes on.
//
// Thread-safe: Post, RunOrPost, InThread, Watch. Everything else only on the loop's thread.
// Held by shared_ptr by all who post, so that a late Post after Stop() is harmless: it is dropped.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  struct TimerKey {
    base::SteadyTime time;
    std::uint64_t id = 0;
    auto operator<=>(const TimerKey&) const = default;
  };

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Why there can be no events of sockets ("epoll_create1: too many open files"), or OK. A loop
  // without them still runs what is posted to it.
  base::Status status() const;
  void Run();   // until Stop()
  void Stop();  // any thread; queued tasks are dropped
  bool InThread() const { return std::this_thread::get_id() == thread_.load(); }

  // Runs `task` (any callable, also move-only) on the loop's thread. False if the loop has stopped.
  template <typename F>
  bool Post(F&& task) {
    return PostTask(std::make_unique<TaskOf<std::decay_t<F>>>(std::forward<F>(task)));
  }
  // Runs `task` at once if this is the loop's thread or the loop sleeps, else as Post does. The
  // caller must hold no lock that anything on the loop may want.
  template <typename F>
  bool RunOrPost(F&& task) {
    const bool in_thread = InThread();
    if (!in_thread && !TakeTurn()) return Post(std::forward<F>(task));
    const Turn turn(in_thread ? nullptr : this);
    task();
    return true;
  }
  // Runs `task` later in this turn of the loop, when the current event has been dealt with.
  // REQUIRES: InThread().
  void Defer(std::function<void()> task) { deferred_.push_back(std::move(task)); }
  // Runs `task` on the loop's thread and waits for it; at once if called on that thread.
  void RunAndWait(const std::function<void()>& task);

  // Runs `work` on a fiber of this loop, which may be left to be resumed from the loop: at once if
  // this is its own thread and no fiber, else as a task. If there is no stack for it, it runs on the
  // thread's own (base::Fiber::Current() tells), where it must not wait. False as Post.
  bool RunOnFiber(std::function<void()> work);
  // The loop on whose fiber this is called; null on a thread's own stack and on a fiber that has moved.
  static Loop* OfFiber();

  // Registers a socket. `sink` must live until Remove; returns the token for it. Errors, for which
  // there is nothing to remove: "epoll_ctl: cannot allocate memory".
  base::Result<std::uint64_t> TryAdd(int fd, Sink& sink);
  // The same for a connection: one that cannot be registered is shut down, and the sink hears of it
  // as if its peer had hung up.
  std::uint64_t Add(int fd, Sink& sink);
  void Remove(std::uint64_t token, int fd);
  // What the sink hears of from now on: all events, or only that the peer has hung up. News that
  // is on its way already may still arrive. REQUIRES: registered, until this returns.
  void Watch(std::uint64_t token, int fd, bool only_hangups);

  TimerKey At(base::SteadyTime time, std::function<void()> fn);
  void Cancel(const TimerKey& key);

  base::SteadyTime now() const { return clock_.Steady(); }
  // "Tue, 15 Nov 1994 08:12:31 GMT" of now, formatted once per second.
  const std::string& HttpDate();
  // A buffer for reading that every connection of the loop borrows, so that idle ones need none.
  char* scratch() { return scratch_.data(); }
  std::size_t scratch_size() const { return scratch_.size(); }

 private:
  struct Task {
    virtual ~Task() = default;
    virtual void Run() = 0;
  };
  template <typename F>
  struct TaskOf final : Task {
    explicit TaskOf(F f) : fn(std::move(f)) {}
    void Run() override { fn(); }
    F fn;
  };
  // Gives the turn back, however the task ends.
  class Turn {
   public:
    explicit Turn(Loop* loop) : loop_(loop) {}
    ~Turn() {
      if (loop_ != nullptr) loop_->GiveTurnBack();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Loop* const loop_;
  };
  struct Slot {
    Sink* sink = nullptr;
    std::uint32_t generation = 0;
  };

  // A slot for the sink; returns its token.
  std::uint64_t Take(Sink& sink);
  void Release(std::uint64_t token);
  int Register(int fd, std::uint64_t token) const;  // 0 or errno

  bool PostTask(std::unique_ptr<Task> task);
  bool TakeTurn();
  void GiveTurnBack();
  bool HasTasks();
  void RunTasks();
  void WakeUp();
  void RunDeferred();
  int RunTimers();  // milliseconds until the next one, -1 if there is none
  int Wait(std::span<epoll_event> events, int timeout) const;
  void Dispatch(std::uint64_t token, std::uint32_t events);

  const base::Clock& clock_;
  int epoll_ = -1;
  int wakeup_ = -1;
  int errno_ = 0;    // why one of them is -1
  std::mutex turn_;  // held by who runs what belongs to the loop
  std::thread::id own_thread_;
  std::atomic<std::thread::id> thread_{};  // who holds it
  base::SteadyTime sleeps_until_{};
  bool ended_ = false;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::map<TimerKey, std::function<void()>> timers_;
  std::vector<std::function<void()>> deferred_;
  std::uint64_t next_timer_ = 1;
  std::string date_;
  std::int64_t date_second_ = -1;
  std::array<char, 64 * 1024> scratch_{};
  base::FiberStacks stacks_;  // of its own thread
  std::atomic<bool> stopping_{false};
  // Waiting for events, or about to: who posts must wake the loop. A busy loop is left alone.
  std::atomic<bool> sleeping_{false};

  base::Mutex mutex_;
  std::vector<std::unique_ptr<Task>> tasks_ PC_GUARDED_BY(mutex_);
  bool stopped_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::net::internal
