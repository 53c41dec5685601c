// SPDX-License-Identifier: Apache-2.0

#include "base/sorted_blocks.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>

namespace portcullis::base {
namespace {

struct KeyOf {
  std::string_view operator()(const std::unique_ptr<std::string>& text) const { return *text; }
};
using Blocks = SortedBlocks<std::unique_ptr<std::string>, KeyOf>;

std::vector<std::string> From(const Blocks& blocks, std::string_view from, bool behind,
                              std::size_t limit = 10000) {
  std::vector<std::string> out;
  blocks.VisitFrom(from, behind, [&](const std::unique_ptr<std::string>& text) {
    out.push_back(*text);
    return out.size() < limit;
  });
  return out;
}

TEST(SortedBlocks, HoldsNothingAtFirst) {
  Blocks blocks;
  EXPECT_EQ(blocks.size(), 0U);
  EXPECT_EQ(blocks.Find("a"), nullptr);
  EXPECT_TRUE(From(blocks, "", false).empty());
}

TEST(SortedBlocks, BehavesAsAnOrderedSet) {
  std::mt19937 random(7);
  Blocks blocks;
  std::set<std::string> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string key = std::to_string(random() % 3000);
    // Grows, then shrinks.
    const bool add = random() % 10 < (i < 10000 ? 8U : 2U);
    EXPECT_EQ(blocks.Find(key) != nullptr, expected.count(key) == 1);
    if (add && expected.insert(key).second) {
      blocks.Insert(std::make_unique<std::string>(key));
    } else if (!add && expected.erase(key) == 1) {
      EXPECT_EQ(*blocks.Take(key), key);
    }
    ASSERT_EQ(blocks.size(), expected.size());
    if (i % 500 != 0) continue;
    EXPECT_EQ(From(blocks, "", false), std::vector(expected.begin(), expected.end()));
    EXPECT_EQ(From(blocks, key, false), std::vector(expected.lower_bound(key), expected.end()));
    EXPECT_EQ(From(blocks, key, true), std::vector(expected.upper_bound(key), expected.end()));
  }
  while (!expected.empty()) {
    blocks.Take(*expected.begin());
    expected.erase(expected.begin());
  }
  EXPECT_TRUE(From(blocks, "", false).empty());
}

TEST(SortedBlocks, TakesWhatComesInOrder) {
  Blocks blocks;
  for (int i = 1000; i < 2000; ++i) blocks.Insert(std::make_unique<std::string>(std::to_string(i)));
  EXPECT_EQ(From(blocks, "1500", false, 2), (std::vector<std::string>{"1500", "1501"}));
  EXPECT_EQ(From(blocks, "1999", true), std::vector<std::string>{});
}

}  // namespace
}  // namespace portcullis::base
