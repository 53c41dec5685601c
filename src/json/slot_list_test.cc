// SPDX-License-Identifier: Apache-2.0

#include "json/slot_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "json/working_copy.h"

namespace portcullis::json::internal {
namespace {

std::vector<std::int64_t> NumbersOf(const SlotList& list) {
  std::vector<std::int64_t> numbers;
  list.ForEach([&](const Slot& slot) {
    numbers.push_back(slot.value.AsInt());
    return true;
  });
  return numbers;
}

TEST(SlotList, IsAVectorWhateverIsInsertedAndErased) {
  std::mt19937 random(1);
  SlotList list;
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const bool erases = !expected.empty() && random() % 3 == 0;
    const std::size_t position = random() % (expected.size() + (erases ? 0 : 1));
    const auto at = expected.begin() + static_cast<std::ptrdiff_t>(position);
    if (erases) {
      list.Erase(position);
      expected.erase(at);
    } else {
      list.Insert(position, {Value::Int(i), nullptr});
      expected.insert(at, i);
    }
    ASSERT_EQ(list.size(), expected.size());
    if (!expected.empty()) {
      const std::size_t other = random() % expected.size();
      ASSERT_EQ(list[other].value.AsInt(), expected[other]);
    }
  }
  EXPECT_EQ(NumbersOf(list), expected);
}

TEST(SlotList, TheFrontOfALongListIsChangedInBlocks) {
  SlotList list;
  for (int i = 0; i < 100'000; ++i) list.PushBack({Value::Int(i), nullptr});
  for (int i = 0; i < 10'000; ++i) list.Insert(0, {Value::Int(-i), nullptr});
  for (int i = 0; i < 10'000; ++i) list.Erase(0);
  EXPECT_EQ(list.size(), 100'000U);
  EXPECT_EQ(list[0].value.AsInt(), 0);
  EXPECT_EQ(list[99'999].value.AsInt(), 99'999);
}

}  // namespace
}  // namespace portcullis::json::internal
