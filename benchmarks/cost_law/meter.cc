// SPDX-License-Identifier: Apache-2.0

#include "meter.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <new>
#include <thread>

namespace portcullis::cost_law {
namespace {

std::atomic<std::uint64_t> allocated{0};
std::atomic<std::int64_t> held{0};
std::atomic<std::int64_t> most{0};

void* Counted(void* memory) {
  if (memory == nullptr) std::abort();
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  allocated.fetch_add(static_cast<std::uint64_t>(size), std::memory_order_relaxed);
  const std::int64_t now = held.fetch_add(size, std::memory_order_relaxed) + size;
  std::int64_t before = most.load(std::memory_order_relaxed);
  while (now > before && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void Forget(void* memory) {
  if (memory == nullptr) return;
  held.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

int OpenCounter() {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof(attributes);
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

}  // namespace

Meter::Meter() : counter_(OpenCounter()) {}

Meter::~Meter() {
  if (counter_ >= 0) ::close(counter_);
}

double Meter::Work() const {
  if (exact()) {
    std::uint64_t count = 0;
    return ::read(counter_, &count, sizeof(count)) == sizeof(count) ? static_cast<double>(count)
                                                                    : 0;
  }
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Meter::Start() {
  allocated_ = allocated.load();
  held_ = held.load();
  most.store(held_);
  work_ = Work();
}

void Meter::AwaitIdle() const {
  constexpr double kIdle = 100'000;  // instructions or nanoseconds
  double before = Work();
  for (int i = 0; i < 500; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const double now = Work();
    if (now - before < kIdle) return;
    before = now;
  }
}

Cost Meter::Stop() {
  Cost cost;
  cost.work = Work() - work_;
  cost.allocated = static_cast<double>(allocated.load() - allocated_);
  cost.peak = static_cast<double>(most.load() - held_);
  return cost;
}

}  // namespace portcullis::cost_law

// Everything the program allocates goes through these.
void* operator new(std::size_t size) {
  return portcullis::cost_law::Counted(std::malloc(size == 0 ? 1 : size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return portcullis::cost_law::Counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void operator delete(void* memory) noexcept { portcullis::cost_law::Forget(memory); }
void operator delete(void* memory, std::size_t) noexcept { portcullis::cost_law::Forget(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  portcullis::cost_law::Forget(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  portcullis::cost_law::Forget(memory);
}
