// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>

#include "plugins/event_rate_limit/token_buckets.h"

namespace portcullis::plugins::event_rate_limit {
namespace {

using namespace std::chrono_literals;

TEST(TokenBucketsTest, StartFullAndRefill) {
  TokenBuckets buckets({"Namespace", 1, 3, 10});
  const base::SteadyTime start{};

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(buckets.Take("a", start));
  EXPECT_FALSE(buckets.Take("a", start));
  EXPECT_TRUE(buckets.Take("b", start));
  EXPECT_TRUE(buckets.Take("a", start + 1s));
  EXPECT_FALSE(buckets.Take("a", start + 1500ms));
}

TEST(TokenBucketsTest, ForgetsTheLeastRecentlyUsed) {
  TokenBuckets buckets({"Namespace", 1, 1, 2});
  const base::SteadyTime now{};

  EXPECT_TRUE(buckets.Take("a", now));
  EXPECT_TRUE(buckets.Take("b", now));
  EXPECT_FALSE(buckets.Take("a", now));
  EXPECT_TRUE(buckets.Take("c", now));  // takes the place of b
  EXPECT_FALSE(buckets.Take("a", now));
  EXPECT_TRUE(buckets.Take("b", now));  // full again
}

}  // namespace
}  // namespace portcullis::plugins::event_rate_limit
