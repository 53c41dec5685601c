// SPDX-License-Identifier: Apache-2.0

#include "metrics/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/fake_clock.h"

namespace portcullis::metrics {
namespace {

TEST(Summary, QuantilesAreWithinOneThirtieth) {
  base::FakeClock clock;
  Summary summary(clock);
  for (int i = 1; i <= 1000; ++i) summary.Observe(i / 1000.0);

  EXPECT_NEAR(summary.Quantile(0.5), 0.5, 0.5 * 0.032);
  EXPECT_NEAR(summary.Quantile(0.9), 0.9, 0.9 * 0.032);
  EXPECT_NEAR(summary.Quantile(0.99), 0.99, 0.99 * 0.032);
  EXPECT_EQ(summary.count(), 1000U);
  EXPECT_NEAR(summary.sum(), 500.5, 1e-9);
}

TEST(Summary, ForgetsWhatIsOlderThanFiveHours) {
  base::FakeClock clock;
  Summary summary(clock);
  summary.Observe(8);
  clock.Advance(std::chrono::hours(4));
  for (int i = 0; i < 64; ++i) summary.Observe(1);
  EXPECT_NEAR(summary.Quantile(0.999), 8, 8 * 0.04);

  clock.Advance(std::chrono::hours(1));
  EXPECT_NEAR(summary.Quantile(0.999), 1, 0.04);

  clock.Advance(std::chrono::hours(24));
  EXPECT_TRUE(std::isnan(summary.Quantile(0.5)));
  EXPECT_EQ(summary.count(), 65U);
}

TEST(Summary, CountsWhatIsOutOfRangeAtItsEnds) {
  Summary summary;
  summary.Observe(0);
  summary.Observe(-1);
  EXPECT_LT(summary.Quantile(0.5), 1e-5);
  for (int i = 0; i < 10; ++i) summary.Observe(1e9);
  EXPECT_GT(summary.Quantile(0.99), 100);
}

}  // namespace
}  // namespace portcullis::metrics
