// SPDX-License-Identifier: Apache-2.0

#include "metrics/page_reset.h"

#include <gtest/gtest.h>

#include "metrics/metrics.h"

namespace portcullis::metrics {
namespace {

TEST(PageReset, ShowsWhatHasBeenCountedSince) {
  Registry registry;
  auto& calls = registry.AddCounter({"a_calls_total", "Calls."}, {"verb"});
  auto& plain = registry.AddCounter({"b_plain_total", "Plain."}, {}).With({});
  auto& time = registry.AddHistogram({"c_seconds", "Time."}, {"verb"}, {1});
  registry.AddGauge({"d_now", "Now."}, {"verb"}).With({"get"}).Set(4);
  auto& raw = registry.AddCounter({"e_raw_total", "Raw.", Stability::kNone}, {}).With({});
  for (const char* verb : {"get", "list"}) {
    calls.With({verb}).Increment(2);
    time.With({verb}).Observe(0.5, 2);
  }
  calls.With({"never"});
  plain.Increment();
  raw.Increment();
  PageReset reset;
  EXPECT_EQ(reset.Since(registry.Expose()), registry.Expose());
  reset.Reset(registry.Expose());
  calls.With({"list"}).Increment();
  calls.With({"new"}).Increment();
  time.With({"list"}).Observe(2);
  EXPECT_EQ(reset.Since(registry.Expose()),
            "# HELP a_calls_total [ALPHA] Calls.\n# TYPE a_calls_total counter\n"
            "a_calls_total{verb=\"list\"} 1\na_calls_total{verb=\"never\"} 0\n"
            "a_calls_total{verb=\"new\"} 1\n"
            "# HELP b_plain_total [ALPHA] Plain.\n# TYPE b_plain_total counter\nb_plain_total 0\n"
            "# HELP c_seconds [ALPHA] Time.\n# TYPE c_seconds histogram\n"
            "c_seconds_bucket{verb=\"list\",le=\"1\"} 0\n"
            "c_seconds_bucket{verb=\"list\",le=\"+Inf\"} 1\n"
            "c_seconds_sum{verb=\"list\"} 2\nc_seconds_count{verb=\"list\"} 1\n"
            "# HELP d_now [ALPHA] Now.\n# TYPE d_now gauge\nd_now{verb=\"get\"} 4\n"
            "# HELP e_raw_total Raw.\n# TYPE e_raw_total counter\ne_raw_total 1\n");
}

TEST(PageReset, LeavesOutFamiliesThatHaveNotCountedSince) {
  Registry registry;
  registry.AddSummary({"a_seconds", "Time."}, {"verb"}).With({"get"}).Observe(1);
  registry.AddCounter({"b_total", "Calls."}, {"verb"}).With({"get"}).Increment();
  PageReset reset;
  reset.Reset(registry.Expose());
  EXPECT_EQ(reset.Since(registry.Expose()), "");
}

}  // namespace
}  // namespace portcullis::metrics
