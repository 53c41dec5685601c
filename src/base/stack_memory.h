// SPDX-License-Identifier: Apache-2.0

// StackMemory<N>: N bytes on the stack for std::pmr containers; the heap gives what they need beyond
// that. Nothing is reused before all of it goes, so containers reserve what they usually need.
//
//   base::StackMemory<64 * sizeof(int)> memory;
//   std::pmr::vector<int> numbers(memory.resource());
//   numbers.reserve(64);
#pragma once

#include <array>
#include <cstddef>
#include <memory_resource>

namespace portcullis::base {

template <std::size_t N>
class StackMemory {
 public:
  StackMemory() = default;
  StackMemory(const StackMemory&) = delete;
  StackMemory& operator=(const StackMemory&) = delete;

  std::pmr::memory_resource* resource() { return &memory_; }

 private:
  alignas(std::max_align_t) std::array<std::byte, N> bytes_;
  std::pmr::monotonic_buffer_resource memory_{bytes_.data(), bytes_.size()};
};

}  // namespace portcullis::base
