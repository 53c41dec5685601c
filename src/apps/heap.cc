// SPDX-License-Identifier: Apache-2.0

// The heap of the program: see base/heap_cache.h. What is not replaced here (arrays, without exceptions) comes to
// these operators; types of a larger alignment go to malloc(3) as ever.

#include <cstddef>
#include <new>

#include "base/heap_cache.h"

void* operator new(std::size_t size) {
  using portcullis::base::TakeFromHeap;
  void* block = TakeFromHeap(size);
  while (block == nullptr) [[unlikely]] {
      const std::new_handler handler = std::get_new_handler();
      if (handler == nullptr) throw std::bad_alloc();
      handler();
      block = TakeFromHeap(size);
    }
  return block;
}

void operator delete(void* block) noexcept { portcullis::base::GiveToHeap(block); }

void operator delete(void* block, std::size_t size) noexcept {
  portcullis::base::GiveToHeap(block, size);
}
