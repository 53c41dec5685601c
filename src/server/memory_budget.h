// SPDX-License-Identifier: Apache-2.0

// MemoryBudget keeps the process below --memory-limit: it knows what the process takes (anonymous
// memory as the kernel counts it, which is what a container is killed for), refuses new requests
// before the limit is reached, and has caches give back what they can. A request under way that takes
// much has them do so at the limit itself, and is ended if that is not enough: base::AskForMemory().
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/memory_reserve.h"
#include "base/mutex.h"
#include "base/status.h"

namespace portcullis::server {

class MemoryBudget final : public base::RoomMaker {
 public:
  // `used`: what the process takes in bytes; asked for at most every kLookEvery.
  MemoryBudget(std::size_t limit, std::function<std::size_t()> used, const base::Clock& clock);
  ~MemoryBudget();

  // Before requests are served: `shrink` gives back what it can at once, on a thread of the budget's.
  // Called when memory is short, at most every kShrinkEvery, until Stop().
  void AddCache(std::function<void()> shrink);
  // Returns when no cache is being shrunk; none is from then on.
  void Stop() PC_EXCLUDES(mutex_);

  // Whether there is memory for a new request. Looks at the process only if that is due by `now`,
  // and makes room if there is little left: then it takes up to kMoment.
  bool Admits(base::SteadyTime now);
  // Looks at the process if that is due, as Admits() does.
  void Refresh(base::SteadyTime now);
  // Has caches shrink, and freed memory go back to the kernel, at most every kMakeRoomEvery. Waits until
  // that is done, but not long: who asks may hold a lock that a cache needs. A fiber waits kMoment at most, since
  // its thread has other connections, too.
  void MakeRoom() override;
  void MakeRoom(base::SteadyTime now, base::Duration patience) PC_EXCLUDES(mutex_);

  // Whether new requests are refused, as of the last look.
  bool is_short() const { return used() >= refuse_from_; }
  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_now_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }
  // How often caches have been asked to give back what they can.
  std::uint64_t shrunk() const { return shrunk_.load(std::memory_order_relaxed); }

  static constexpr std::chrono::milliseconds kLookEvery{20};
  static constexpr std::chrono::milliseconds kMakeRoomEvery{250};
  static constexpr std::chrono::milliseconds kShrinkEvery{1000};
  static constexpr std::chrono::milliseconds kMoment{20};
  static constexpr std::chrono::milliseconds kPatience{1000};

 private:
  void Run() PC_EXCLUDES(mutex_);
  void Shrink(base::SteadyTime now);

  const std::size_t limit_;
  const std::size_t refuse_from_;  // what is under way still grows
  const std::function<std::size_t()> used_;
  const base::Clock& clock_;
  std::atomic<std::size_t> used_now_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> shrunk_{0};
  // Steady clock's ticks. Who moves it on looks; the others go by what was seen last.
  std::atomic<std::int64_t> next_look_{0};
  std::vector<std::function<void()>> caches_;  // constant once requests are served

  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  bool makes_room_ PC_GUARDED_BY(mutex_) = false;
  base::SteadyTime asked_at_ PC_GUARDED_BY(mutex_) = base::SteadyTime::min();
  base::SteadyTime next_shrink_;  // of the thread
  std::thread thread_;
};

// What a process may take here: the least limit of its cgroups (version 2 or 1) and the machine's
// memory. `proc` and `cgroups` are where those are told: "/proc", "/sys/fs/cgroup".
std::size_t AvailableMemory(const std::string& proc = "/proc",
                            const std::string& cgroups = "/sys/fs/cgroup");

// --memory-limit: a quantity as "512Mi"; "" for 80 % of AvailableMemory(). At least 64Mi.
base::Result<std::size_t> ReadMemoryLimit(const std::string& text);

}  // namespace portcullis::server
