// SPDX-License-Identifier: Apache-2.0

#include "base/expiring_cache.h"

#include <gtest/gtest.h>

#include <chrono>

namespace portcullis::base {
namespace {

TEST(ExpiringCache, ForgetsWhenTheTimeHasCome) {
  ExpiringCache<int> cache(2);
  const SteadyTime start;
  cache.Put("a", 1, start + std::chrono::seconds(10));
  EXPECT_EQ(cache.Find("a", start), 1);
  EXPECT_EQ(cache.Find("a", start + std::chrono::seconds(10)), std::nullopt);
  EXPECT_EQ(cache.Find("a", start), std::nullopt);
}

TEST(ExpiringCache, DropsWhatWasNotUsedForLongest) {
  ExpiringCache<int> cache(2);
  const SteadyTime start;
  const SteadyTime end = start + std::chrono::seconds(10);
  cache.Put("a", 1, end);
  cache.Put("b", 2, end);
  EXPECT_EQ(cache.Find("a", start), 1);
  cache.Put("c", 3, end);
  EXPECT_EQ(cache.Find("b", start), std::nullopt);
  cache.Put("a", 4, end);
  EXPECT_EQ(cache.Find("a", start), 4);
  EXPECT_EQ(cache.Find("c", start), 3);
}

}  // namespace
}  // namespace portcullis::base
