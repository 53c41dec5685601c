// SPDX-License-Identifier: Apache-2.0

#include "base/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

#include "base/allocation_failure.h"

#if defined(__SANITIZE_ADDRESS__)
#define PC_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define PC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PC_ASAN 1
#elif __has_feature(thread_sanitizer)
#define PC_TSAN 1
#endif
#endif
#if defined(PC_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(PC_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

// Saves what a function must leave as it finds it (the ABI of the processor; nothing here changes the
// modes of floating point), stores the stack pointer at `from`, and goes on at `to`, which was stored so. Not
// swapcontext(3): that makes a system call for the signal mask, 250 ns instead of 7.
extern "C" void pc_switch_stack(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.hidden pc_switch_stack
.globl pc_switch_stack
.type pc_switch_stack, @function
pc_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size pc_switch_stack, . - pc_switch_stack
)");
#elif defined(__aarch64__)
// A fiber begins at pc_begin_fiber, with what it is to call in x19.
asm(R"(
.text
.p2align 4
.hidden pc_switch_stack
.globl pc_switch_stack
.type pc_switch_stack, %function
pc_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size pc_switch_stack, . - pc_switch_stack
.p2align 4
.hidden pc_begin_fiber
.globl pc_begin_fiber
.type pc_begin_fiber, %function
pc_begin_fiber:
  mov x30, xzr
  br x19
.size pc_begin_fiber, . - pc_begin_fiber
)");
extern "C" void pc_begin_fiber();
#else
void pc_switch_stack(void**, void*) { std::terminate(); }
#endif

namespace portcullis::base {
namespace {

// An ordinary request stays within so much; what is deeper is given back now and then.
constexpr std::size_t kKeptWarm = 64 * 1024;
constexpr unsigned kUsesPerTrim = 16;
constexpr std::size_t kMaxIdle = 64;

thread_local Fiber* current = nullptr;

std::size_t PageSize() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// The default stack size of a thread, and a page for the guard.
std::size_t StackSize() {
  pthread_attr_t attributes;
  std::size_t size = 8 << 20;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &size);
    pthread_attr_destroy(&attributes);
  }
  const std::size_t page = PageSize();
  return (size + page - 1) / page * page + page;
}

// Lays out a stack below `top` as pc_switch_stack() leaves one, so that switching to what this returns
// calls `main`, which finds a return address of 0. `top` is a multiple of 16.
void** BeginAt(void** top, void (*main)()) {
#if defined(__aarch64__)
  constexpr std::size_t kSaved = 20;
  constexpr std::size_t kReturnAddress = 11;  // x30
  void** const place = top - kSaved;
  std::fill_n(place, kSaved, nullptr);
  place[0] = reinterpret_cast<void*>(main);
  place[kReturnAddress] = reinterpret_cast<void*>(&pc_begin_fiber);
#else
  constexpr std::size_t kSaved = 6;
  void** const place = top - 2 - kSaved;
  std::fill_n(place, kSaved + 2, nullptr);
  place[kSaved] = reinterpret_cast<void*>(main);
#endif
  return place;
}

}  // namespace

FiberStacks::FiberStacks() : size_(StackSize()) {}

FiberStacks::~FiberStacks() {
  const MutexLock lock(mutex_);
  assert(in_use_ == 0);
  for (const Stack& stack : idle_) munmap(stack.bottom, size_);
}

FiberStacks::Stack FiberStacks::Take() {
  {
    const MutexLock lock(mutex_);
    idle_.reserve(kMaxIdle);  // Put() must find room
    ++in_use_;
    if (!idle_.empty()) {
      const Stack stack = idle_.back();
      idle_.pop_back();
      return stack;
    }
  }
  const Stack made = Make();
  if (made.bottom != nullptr) return made;
  const MutexLock lock(mutex_);
  --in_use_;
  return made;
}

FiberStacks::Stack FiberStacks::Make() const {
  void* const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return {};
  if (mprotect(memory, PageSize(), PROT_NONE) != 0) {
    munmap(memory, size_);
    return {};
  }
  // A large page for the few small ones that are touched would be 2 MB for each request that waits.
  madvise(memory, size_, MADV_NOHUGEPAGE);
  return {static_cast<char*>(memory), 0};
}

void FiberStacks::Put(Stack stack) {
#if defined(PC_ASAN)
  // The frames that never return: Fiber::Main and what it has called last.
  __asan_unpoison_memory_region(TopOf(stack) - kKeptWarm, kKeptWarm);
#endif
  if (++stack.uses % kUsesPerTrim == 0) {
    const std::size_t page = PageSize();
    madvise(stack.bottom + page, size_ - page - kKeptWarm, MADV_DONTNEED);
  }
  {
    const MutexLock lock(mutex_);
    --in_use_;
    if (idle_.size() < kMaxIdle) return idle_.push_back(stack);
  }
  munmap(stack.bottom, size_);
}

Fiber::Fiber(FiberStacks& stacks, FiberStacks::Stack stack, std::function<void()> work)
    : stacks_(stacks), stack_(stack), work_(std::move(work)) {
  auto** const top =
      reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(this) & ~std::uintptr_t{15});
  own_place_ = BeginAt(top, &Fiber::Main);
#if defined(PC_TSAN)
  told_.tsan_fiber = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(PC_TSAN)
  __tsan_destroy_fiber(told_.tsan_fiber);
#endif
}

bool Fiber::Run(FiberStacks& stacks, std::function<void()>&& work) {
  if (!kSupported) return false;
  const FiberStacks::Stack stack = stacks.Take();
  if (stack.bottom == nullptr) return false;
  // It lies at the top of its own stack.
  char* const at =
      stacks.TopOf(stack) - (sizeof(Fiber) + alignof(Fiber) - 1) / alignof(Fiber) * alignof(Fiber);
  auto* const fiber = new (at) Fiber(stacks, stack, std::move(work));
  fiber->Enter();
  return true;
}

Fiber* Fiber::Current() { return current; }

bool Fiber::MayHoldThread() { return current == nullptr || current->moved_; }

void Fiber::Resume() { Enter(); }

void Fiber::Enter() {
  outer_ = current;
  current = this;
  first_step_.reset();
#if defined(PC_ASAN)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack_.bottom, stacks_.size_);
#elif defined(PC_TSAN)
  told_.tsan_host = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(told_.tsan_fiber, 0);
#endif
  pc_switch_stack(&host_place_, own_place_);
#if defined(PC_ASAN)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  current = outer_;
  if (std::exchange(moving_, false)) {
    // Without memory for it, it goes on here; on the other thread it may be gone before this returns.
    const auto hand_over = [this] {
      const RunElsewhere run = elsewhere_;
      run([this] { Enter(); });
    };
    if (UnlessMemoryRunsOut(hand_over)) return;
    moved_ = false;
    return Enter();
  }
  if (!ended_) return;
  FiberStacks& stacks = stacks_;
  const FiberStacks::Stack stack = stack_;
  this->~Fiber();
  stacks.Put(stack);
}

void Fiber::Exit() {
#if defined(PC_ASAN)
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &told_.asan_fake, told_.host_bottom,
                                 told_.host_size);
#elif defined(PC_TSAN)
  __tsan_switch_to_fiber(told_.tsan_host, 0);
#endif
  pc_switch_stack(&own_place_, host_place_);
#if defined(PC_ASAN)
  __sanitizer_finish_switch_fiber(told_.asan_fake, &told_.host_bottom, &told_.host_size);
#endif
}

void Fiber::Leave() {
  assert(current == this);
  assert(std::uncaught_exceptions() == 0);
  Exit();
}

void Fiber::Move() {
  assert(current == this);
  assert(std::uncaught_exceptions() == 0);
  if (!elsewhere_ || moved_) return;
  moving_ = true;
  moved_ = true;
  Exit();
}

void Fiber::MoveCurrent() {
  if (current != nullptr) current->Move();
}

bool Fiber::BeginStep(SteadyTime now) {
  Fiber* const fiber = current;
  if (fiber == nullptr || fiber->moved_) return false;
  if (!fiber->first_step_) fiber->first_step_ = now;
  if (now - *fiber->first_step_ < kLong) return false;
  fiber->Move();
  return fiber->moved_;
}

void Fiber::Main() noexcept {
  Fiber* const self = current;
#if defined(PC_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &self->told_.host_bottom, &self->told_.host_size);
#endif
  UnlessMemoryRunsOut(self->work_);
  self->work_ = nullptr;
  self->ended_ = true;
  self->Exit();
  std::terminate();  // what has ended is not resumed
}

}  // namespace portcullis::base
