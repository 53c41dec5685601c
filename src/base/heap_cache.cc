// SPDX-License-Identifier: Apache-2.0

#include "base/heap_cache.h"

#include <malloc.h>
#include <pthread.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace portcullis::base {
namespace {

// Sizes count what malloc(3) puts in front of each block, so that a class has blocks of one size.
constexpr std::size_t kHead = sizeof(std::size_t);
constexpr std::size_t kSmallStep = 16;
constexpr std::size_t kSmallest = 32;
constexpr std::size_t kLargestSmall = 1024;
constexpr std::size_t kLargeStep = 512;
constexpr std::size_t kLargest = 20 * 1024;
constexpr std::size_t kSmallClasses = kLargestSmall / kSmallStep + 1;
constexpr std::size_t kClasses = kSmallClasses + kLargest / kLargeStep + 1;

// The beginning of a block that is kept. As in glibc's own lists the next one is not there in the clear, and
// a mark tells a block that is freed twice.
struct Block {
  std::uintptr_t next;
  std::uintptr_t mark;
};
constexpr std::uintptr_t kMark = 0x6b657074'6b657074;

struct Lists {
  std::array<Block*, kClasses> first{};
  std::size_t room = 0;  // none before the first block is freed, and after the thread's end
  bool is_open = false;
  bool is_closed = false;
};
constinit thread_local Lists lists;

std::uintptr_t Masked(const Block* next, const Block* holder) {
  return reinterpret_cast<std::uintptr_t>(next) ^ reinterpret_cast<std::uintptr_t>(holder) >> 12;
}

Block* Next(const Block* block) {
  const std::uintptr_t next = block->next ^ reinterpret_cast<std::uintptr_t>(block) >> 12;
  return reinterpret_cast<Block*>(next);  // NOLINT(performance-no-int-to-ptr)
}

constexpr std::size_t RoundedUp(std::size_t size, std::size_t step) {
  return (size + step - 1) & ~(step - 1);
}

// REQUIRES: size <= kLargest - kHead.
constexpr std::size_t SizeFor(std::size_t size) {
  const std::size_t small = RoundedUp(size + kHead, kSmallStep);
  if (small <= kLargestSmall) return small < kSmallest ? kSmallest : small;
  return RoundedUp(small, kLargeStep);
}

// The size class. REQUIRES: `size` is a value of SizeFor().
constexpr std::size_t ClassOf(std::size_t size) {
  return size <= kLargestSmall ? size / kSmallStep : kSmallClasses + size / kLargeStep;
}

void GiveAllBack() {
  for (Block*& first : lists.first) {
    while (first != nullptr) {
      Block* const block = first;
      first = Next(block);
      std::free(block);
    }
  }
}

void Close(void*) {
  lists.is_closed = true;
  lists.room = 0;
  GiveAllBack();
}

// Calls Close() when the thread ends.
void Open() {
  static const pthread_key_t key = [] {
    pthread_key_t made = 0;
    pthread_key_create(&made, &Close);
    return made;
  }();
  lists.is_open = true;
  pthread_setspecific(key, &lists);
}

// Makes room; false if the thread is to keep nothing.
[[gnu::noinline]] bool MakeRoom() {
  if (lists.is_closed) return false;
  if (lists.is_open) {
    GiveAllBack();
  } else {
    Open();
  }
  lists.room = kHeapCache;
  return true;
}

[[gnu::noinline]] void CheckNotKept(const Block* block, std::size_t at) {
  for (const Block* kept = lists.first[at]; kept != nullptr; kept = Next(kept)) {
    if (kept == block) std::abort();
  }
}

void Keep(void* memory, std::size_t size) {
  if (lists.room < size && !MakeRoom()) [[unlikely]] {
    return std::free(memory);
  }
  lists.room -= size;
  auto* const block = static_cast<Block*>(memory);
  const std::size_t at = ClassOf(size);
  if (block->mark == kMark) [[unlikely]] {
    CheckNotKept(block, at);
  }
  block->next = Masked(lists.first[at], block);
  block->mark = kMark;
  lists.first[at] = block;
}

}  // namespace

void* TakeFromHeap(std::size_t size) noexcept {
  if (size > kLargest - kHead) return std::malloc(size);
  const std::size_t whole = SizeFor(size);
  Block*& first = lists.first[ClassOf(whole)];
  Block* const block = first;
  if (block == nullptr) return std::malloc(whole - kHead);
  first = Next(block);
  block->mark = 0;
  lists.room += whole;
  return block;
}

void GiveToHeap(void* block) noexcept {
  if (block == nullptr) return;
  const std::size_t size = malloc_usable_size(block) + kHead;
  if (size <= kLargestSmall) return Keep(block, size);
  // Between the last small class and the first large one there is none.
  if (size < kLargestSmall + kLargeStep || size >= kLargest + kLargeStep) return std::free(block);
  Keep(block, size & ~(kLargeStep - 1));
}

void GiveToHeap(void* block, std::size_t size) noexcept {
  if (block == nullptr) return;
  if (size > kLargest - kHead) return std::free(block);
  Keep(block, SizeFor(size));
}

}  // namespace portcullis::base
