// SPDX-License-Identifier: Apache-2.0

#include "server/memory_budget.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

#include "api/quantity.h"
#include "base/fiber.h"
#include "base/file.h"
#include "base/strings.h"

namespace portcullis::server {
namespace {

constexpr std::size_t kLeast = 64 << 20;

// A file of the kernel, "" if it cannot be read.
std::string Content(const std::string& path) {
  auto text = base::ReadFile(path);
  return text.ok() ? std::move(*text) : std::string();
}

// The limit in a cgroup's file; the largest number for "max" and what is none.
std::size_t LimitIn(const std::string& path) {
  const auto number = base::ParseInt(base::Trim(Content(path)));
  return number && *number > 0 ? static_cast<std::size_t>(*number)
                               : std::numeric_limits<std::size_t>::max();
}

// The least limit on the way from the root of a hierarchy to the process' group.
std::size_t LeastLimit(const std::string& root, std::string_view group, std::string_view file) {
  std::size_t least = LimitIn(base::StrCat(root, "/", file));
  std::string path = root;
  for (const std::string_view part : base::Split(group, '/')) {
    if (part.empty()) continue;
    path += base::StrCat("/", part);
    least = std::min(least, LimitIn(base::StrCat(path, "/", file)));
  }
  return least;
}

}  // namespace

MemoryBudget::MemoryBudget(std::size_t limit, std::function<std::size_t()> used,
                           const base::Clock& clock)
    : limit_(limit), refuse_from_(limit - limit / 10), used_(std::move(used)), clock_(clock) {
  thread_ = std::thread([this] { Run(); });
}

MemoryBudget::~MemoryBudget() { Stop(); }

void MemoryBudget::Stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void MemoryBudget::AddCache(std::function<void()> shrink) { caches_.push_back(std::move(shrink)); }

bool MemoryBudget::Admits(base::SteadyTime now) {
  Refresh(now);
  if (!is_short()) return true;
  refused_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void MemoryBudget::Refresh(base::SteadyTime now) {
  std::int64_t due = next_look_.load(std::memory_order_relaxed);
  if (now.time_since_epoch().count() < due) return;
  const std::int64_t next = (now + kLookEvery).time_since_epoch().count();
  if (!next_look_.compare_exchange_strong(due, next)) return;
  used_now_ = used_();
  if (!is_short()) return;
  MakeRoom(now, kMoment);
  used_now_ = used_();
}

void MemoryBudget::MakeRoom() {
  MakeRoom(clock_.Steady(), base::Fiber::MayHoldThread() ? kPatience : kMoment);
}

void MemoryBudget::MakeRoom(base::SteadyTime now, base::Duration patience) {
  const auto end = clock_.Steady() + patience;
  const base::MutexLock lock(mutex_);
  if (!makes_room_) {
    if (now < asked_at_ + kMakeRoomEvery) return;
    asked_at_ = now;
    makes_room_ = true;
    changed_.NotifyAll();
  }
  while (makes_room_ && !stopping_ && changed_.WaitUntil(mutex_, end)) {
  }
}

void MemoryBudget::Run() {
  pthread_setname_np(pthread_self(), "memory");
  const base::NeedsMemory needs;
  while (true) {
    base::SteadyTime now;
    {
      const base::MutexLock lock(mutex_);
      while (!stopping_ && !makes_room_) changed_.Wait(mutex_);
      if (stopping_) return;
      now = asked_at_;
    }
    Shrink(now);
    {
      const base::MutexLock lock(mutex_);
      makes_room_ = false;
    }
    changed_.NotifyAll();
  }
}

void MemoryBudget::Shrink(base::SteadyTime now) {
  if (now >= next_shrink_) {
    next_shrink_ = now + kShrinkEvery;
    shrunk_.fetch_add(1, std::memory_order_relaxed);
    for (const auto& shrink : caches_) shrink();
  }
  malloc_trim(0);  // what the allocator keeps for later counts, too
}

std::size_t AvailableMemory(const std::string& proc, const std::string& cgroups) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::istringstream total(Content(proc + "/meminfo"));  // "MemTotal:  24000000 kB"
  std::string name;
  std::size_t kilobytes = 0;
  if (total >> name >> kilobytes) least = kilobytes * 1024;
  // "0::/a/b", of old "4:memory:/a/b"
  const std::string groups = Content(proc + "/self/cgroup");
  for (const std::string_view line : base::Split(groups, '\n')) {
    const std::vector<std::string_view> parts = base::Split(line, ':');
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      least = std::min(least, LeastLimit(cgroups, parts[2], "memory.max"));
    } else if (parts[1] == "memory") {
      least = std::min(least, LeastLimit(cgroups + "/memory", parts[2], "memory.limit_in_bytes"));
    }
  }
  return least;
}

base::Result<std::size_t> ReadMemoryLimit(const std::string& text) {
  if (text.empty()) return std::max(kLeast, AvailableMemory() / 10 * 8);
  const auto quantity = api::Quantity::Parse(text);
  if (!quantity.ok()) {
    return base::ConfigError(
        base::StrCat("invalid argument \"", text,
                     "\" for \"--memory-limit\" flag: ", quantity.status().message()));
  }
  const std::int64_t bytes = quantity->Value();
  if (bytes < static_cast<std::int64_t>(kLeast)) {
    return base::ConfigError(base::StrCat("invalid argument \"", text,
                                          "\" for \"--memory-limit\" flag: must be at least 64Mi"));
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace portcullis::server
