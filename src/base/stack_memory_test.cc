// SPDX-License-Identifier: Apache-2.0

#include "base/stack_memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace portcullis::base {
namespace {

bool LiesIn(const void* place, const void* begin, std::size_t size) {
  const auto* const at = static_cast<const char*>(place);
  const auto* const first = static_cast<const char*>(begin);
  return !std::less<>()(at, first) && std::less<>()(at, first + size);
}

TEST(StackMemory, GivesItsOwnBytesFirstAndTheHeapBeyondThem) {
  StackMemory<16 * sizeof(int)> memory;
  std::pmr::vector<int> numbers(memory.resource());
  numbers.reserve(16);
  EXPECT_TRUE(LiesIn(numbers.data(), &memory, sizeof(memory)));
  numbers.assign(1000, 7);
  EXPECT_FALSE(LiesIn(numbers.data(), &memory, sizeof(memory)));
  EXPECT_EQ(numbers.back(), 7);
}

}  // namespace
}  // namespace portcullis::base
