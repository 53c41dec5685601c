// SPDX-License-Identifier: Apache-2.0

#include "base/memory_reserve.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::base {
namespace {

constexpr std::size_t kReserve = 8 << 20;  // never written to: it costs addresses, not memory
constexpr long kNanosecondsBetweenTries = 10'000'000;
constexpr int kTries = 500;   // in a row, five seconds; then there is no help
constexpr time_t kApart = 2;  // seconds between failures that do not count as a row

std::atomic<bool> is_set{false};
std::atomic<void*> reserve{nullptr};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> limit{kNoLimit};
std::atomic<RoomMaker*> room_maker{nullptr};
thread_local int needs = 0;
thread_local int tries = 0;
thread_local time_t last_try = 0;

void PutAside() {
  if (reserve.load(std::memory_order_relaxed) != nullptr) return;
  void* const memory = std::malloc(kReserve);
  void* expected = nullptr;
  if (memory != nullptr && !reserve.compare_exchange_strong(expected, memory)) std::free(memory);
}

// Returns if the allocation is to be tried again.
void OnFailedAllocation() {
  if (needs == 0) throw std::bad_alloc();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (now.tv_sec - last_try > kApart) tries = 0;
  last_try = now.tv_sec;
  if (++tries > kTries) throw std::bad_alloc();
  if (void* const memory = reserve.exchange(nullptr)) {
    std::free(memory);
    return;
  }
  const timespec pause{0, kNanosecondsBetweenTries};
  nanosleep(&pause, nullptr);
}

}  // namespace

void PutMemoryAside() {
  if (is_set.exchange(true)) return;
  PutAside();
  std::set_new_handler(&OnFailedAllocation);
}

std::size_t UsedMemory() {
  const auto text = ReadFile("/proc/self/statm");  // pages: size, resident, of files, …
  if (!text.ok()) return 0;
  const std::vector<std::string_view> pages = Split(*text, ' ');
  if (pages.size() < 3) return 0;
  const auto used = ParseInt(pages[1]).value_or(0) - ParseInt(pages[2]).value_or(0);
  return static_cast<std::size_t>(std::max<std::int64_t>(used, 0) * getpagesize());
}

void LimitMemory(std::size_t bytes, RoomMaker* room) {
  room_maker.store(room, std::memory_order_release);
  limit.store(bytes, std::memory_order_relaxed);
}

void AskForMemory(std::size_t size) {
  const std::size_t most = limit.load(std::memory_order_relaxed);
  if (most == kNoLimit || needs > 0 || UsedMemory() + size <= most) return;
  if (RoomMaker* const room = room_maker.load(std::memory_order_acquire)) {
    room->MakeRoom();
    if (UsedMemory() + size <= most) return;
  }
  throw std::bad_alloc();
}

NeedsMemory::NeedsMemory() { ++needs; }

NeedsMemory::~NeedsMemory() {
  if (--needs == 0 && is_set.load(std::memory_order_relaxed)) PutAside();
}

}  // namespace portcullis::base
