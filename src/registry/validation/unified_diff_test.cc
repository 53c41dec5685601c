// SPDX-License-Identifier: Apache-2.0

// Differences as k8s.io/apimachinery/pkg/util/diff prints them.
#include "registry/validation/unified_diff.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/strings.h"
#include "registry/testing/slow_matching.h"

namespace portcullis::registry {
namespace {

using Lines = std::vector<std::string_view>;

std::string Text(const std::vector<MatchingBlock>& blocks) {
  std::string out;
  for (const MatchingBlock& block : blocks) {
    out += base::StrCat(std::to_string(block.old_line), "-", std::to_string(block.new_line), "+",
                        std::to_string(block.size), " ");
  }
  return out;
}

Lines RandomLines(std::mt19937& random, std::size_t size, std::size_t kinds) {
  static constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV";
  Lines out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(kAlphabet.substr(random() % kinds, 1));
  return out;
}

// A copy with some lines changed, removed and moved.
Lines Edited(std::mt19937& random, const Lines& lines, std::size_t kinds) {
  Lines out;
  for (const std::string_view line : lines) {
    const auto what = random() % 12;
    if (what == 0) continue;
    if (what == 1) out.push_back(RandomLines(random, 1, kinds)[0]);
    if (what != 2) out.push_back(line);
  }
  if (out.size() > 4) std::rotate(out.begin(), out.begin() + 2, out.begin() + 4);
  return out;
}

TEST(UnifiedDiffTest, BlocksAreThoseOfRatcliffAndObershelp) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t kinds = 1 + random() % 12;
    const Lines before = RandomLines(random, random() % 40, kinds);
    const Lines after =
        round % 2 == 0 ? RandomLines(random, random() % 40, kinds) : Edited(random, before, kinds);
    ASSERT_EQ(Text(MatchLines(before, after)), Text(testing::SlowMatcher(before, after).blocks))
        << base::Join(before, "") << " " << base::Join(after, "");
  }
}

TEST(UnifiedDiffTest, PopularLinesOnlyExtendBlocks) {
  std::mt19937 random(8);
  for (int round = 0; round < 12; ++round) {
    Lines before = RandomLines(random, 205, round % 2 == 0 ? 48 : 3);
    if (round % 3 == 0) before.insert(before.begin() + 100, {"one", "two", "three"});
    const Lines after = Edited(random, before, 48);
    ASSERT_EQ(Text(MatchLines(before, after)), Text(testing::SlowMatcher(before, after).blocks));
  }
}

// Facts of go-difflib.
TEST(UnifiedDiffTest, RangesAndContextAreThoseOfGoDifflib) {
  EXPECT_EQ(UnifiedDiff("a", "a"), "");
  EXPECT_EQ(UnifiedDiff("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
  EXPECT_EQ(UnifiedDiff("a\nb", "a"), "@@ -1,2 +1 @@\n a\n-b\n");
  EXPECT_EQ(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9", "1\n2\n3\n4\nx\n6\n7\n8\n9"),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
  // Six equal lines join two changes, seven part them.
  EXPECT_EQ(UnifiedDiff("x\n1\n2\n3\n4\n5\n6\nx", "y\n1\n2\n3\n4\n5\n6\ny"),
            "@@ -1,8 +1,8 @@\n-x\n+y\n 1\n 2\n 3\n 4\n 5\n 6\n-x\n+y\n");
  EXPECT_EQ(UnifiedDiff("x\n1\n2\n3\n4\n5\n6\n7\nx", "y\n1\n2\n3\n4\n5\n6\n7\ny"),
            "@@ -1,4 +1,4 @@\n-x\n+y\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-x\n+y\n");
  // The longest block wins over the first one.
  EXPECT_EQ(UnifiedDiff("a\nb", "a\nc\na\nb"), "@@ -1,2 +1,4 @@\n+a\n+c\n a\n b\n");
}

// The old text comes out without the "+" lines, the new one without the "-" lines.
std::string Side(std::string_view diff, char dropped) {
  std::string out;
  for (const std::string_view line : base::Split(diff, '\n')) {
    if (line.empty() || line[0] == '@' || line[0] == dropped) continue;
    out += base::StrCat(line.substr(1), "\n");
  }
  return out;
}

TEST(UnifiedDiffTest, BeyondTheBudgetTheMatchingIsCoarserAndStillCorrect) {
  std::mt19937 random(9);
  for (const std::size_t pairs : {0U, 50U, 400U, 3000U}) {
    const Lines before = RandomLines(random, 150, 6);
    const Lines after = Edited(random, before, 6);
    std::size_t old_line = 0;
    std::size_t new_line = 0;
    for (const MatchingBlock& block : MatchLines(before, after, pairs)) {
      EXPECT_GE(block.old_line, old_line);
      EXPECT_GE(block.new_line, new_line);
      for (std::size_t i = 0; i < block.size; ++i) {
        EXPECT_EQ(before[block.old_line + i], after[block.new_line + i]);
      }
      old_line = block.old_line + block.size;
      new_line = block.new_line + block.size;
    }
    EXPECT_LE(old_line, before.size());
    EXPECT_LE(new_line, after.size());
  }
}

TEST(UnifiedDiffTest, LargeTextsOfFewDifferentLinesAreCompared) {
  std::string before;
  std::string after;
  for (int i = 0; i < 60'000; ++i) {
    before += base::StrCat(std::to_string(i % 500), "\n");
    after += base::StrCat(std::to_string((i * 7) % 501), "\n");
  }
  const std::string diff =
      UnifiedDiff(base::StrCat("first\n", before), base::StrCat(after, "last"));
  EXPECT_EQ(Side(diff, '+').substr(0, 8), "first\n0\n");
}

}  // namespace
}  // namespace portcullis::registry
