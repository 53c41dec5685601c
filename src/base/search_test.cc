// SPDX-License-Identifier: Apache-2.0

#include "base/search.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace portcullis::base {
namespace {

std::string RandomText(std::mt19937& random, std::size_t most) {
  std::string out;
  for (auto n = random() % (most + 1); n > 0; --n) out += random() % 8 == 0 ? 'b' : 'a';
  return out;
}

TEST(SearchTest, FindsWhatStringViewFinds) {
  std::mt19937 random(17);
  for (int round = 0; round < 50'000; ++round) {
    const std::string text = RandomText(random, 60);
    const std::string wanted = RandomText(random, round % 2 == 0 ? 6 : 30);
    const std::size_t from = random() % 70;
    ASSERT_EQ(FindText(text, wanted), text.find(wanted)) << text << " " << wanted;
    ASSERT_EQ(FindText(text, wanted, from), text.find(wanted, from)) << text << " " << wanted;
    ASSERT_EQ(FindLastText(text, wanted), text.rfind(wanted)) << text << " " << wanted;
    ASSERT_EQ(FindLastText(text, wanted, from), text.rfind(wanted, from)) << text << " " << wanted;
  }
}

// A search that compares at each place would take minutes.
TEST(SearchTest, LongTextsOfOneLetterAreSearched) {
  const std::string text(2'000'000, 'a');
  const std::string wanted = std::string(1'000'000, 'a') + "b";
  EXPECT_EQ(FindText(text, wanted), std::string::npos);
  EXPECT_EQ(FindLastText(text, "b" + wanted), std::string::npos);
}

}  // namespace
}  // namespace portcullis::base
