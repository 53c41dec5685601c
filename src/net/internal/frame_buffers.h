// SPDX-License-Identifier: Apache-2.0

// Where an HTTP/2 session's frames are made.
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/allocation_failure.h"

namespace portcullis::net::internal {

// nghttp2 keeps a buffer of about 16 KiB per session to make frames in. It gets pages of its own,
// which an idle session gives back: thousands of them watch and wait.
class FrameBuffers {
 public:
  FrameBuffers() = default;
  ~FrameBuffers() {
    for (const auto& [address, size] : pages_) munmap(address, size);
  }
  FrameBuffers(const FrameBuffers&) = delete;
  FrameBuffers& operator=(const FrameBuffers&) = delete;

  nghttp2_mem Functions() {
    return {this,
            [](std::size_t size, void* self) {
              return static_cast<FrameBuffers*>(self)->Allocate(size);
            },
            [](void* address, void* self) { static_cast<FrameBuffers*>(self)->Free(address); },
            [](std::size_t count, std::size_t size, void*) { return std::calloc(count, size); },
            [](void* address, std::size_t size, void* self) {
              return static_cast<FrameBuffers*>(self)->Reallocate(address, size);
            }};
  }
  // REQUIRES: no frame is being made.
  void GiveBack() {
    for (const auto& [address, size] : pages_) madvise(address, size, MADV_DONTNEED);
  }

 private:
  static constexpr std::size_t kLarge = 12 << 10;

  void* Allocate(std::size_t size) {
    if (size < kLarge) return std::malloc(size);
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return std::malloc(size);
    if (!base::UnlessMemoryRunsOut([&] { pages_.emplace_back(address, size); })) {
      munmap(address, size);
      return nullptr;
    }
    return address;
  }
  bool IsOurs(void* address) const {
    return std::any_of(pages_.begin(), pages_.end(),
                       [&](const auto& entry) { return entry.first == address; });
  }
  void Free(void* address) {
    if (!IsOurs(address)) return std::free(address);
    for (const auto& entry : pages_) {
      if (entry.first == address) munmap(address, entry.second);
    }
    std::erase_if(pages_, [&](const auto& entry) { return entry.first == address; });
  }
  void* Reallocate(void* address, std::size_t size) {
    if (address == nullptr) return Allocate(size);
    if (!IsOurs(address)) return std::realloc(address, size);
    std::size_t old_size = 0;
    for (const auto& entry : pages_) old_size = entry.first == address ? entry.second : old_size;
    void* next = Allocate(size);
    if (next == nullptr) return nullptr;
    std::memcpy(next, address, std::min(old_size, size));
    Free(address);
    return next;
  }

  std::vector<std::pair<void*, std::size_t>> pages_;
};

}  // namespace portcullis::net::internal
