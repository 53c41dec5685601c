// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "golang/time.h"

namespace portcullis::registry {
namespace {

// The next `count` times after `after`.
std::string Next(std::string_view schedule, std::string_view after, int count = 1) {
  const auto parsed = Schedule::Parse(schedule);
  if (!parsed) return CheckSchedule(schedule);
  std::string out;
  std::optional<std::int64_t> at = golang::ParseTime(after)->seconds;
  for (int i = 0; i < count && at; ++i) {
    at = parsed->Next(*at);
    if (!out.empty()) out += ' ';
    out += at ? golang::FormatTime({*at, 0}) : "never";
  }
  return out;
}

TEST(ScheduleNext, IsTheNextMinuteThatFits) {
  EXPECT_EQ(Next("* * * * *", "2026-01-01T00:00:30Z"), "2026-01-01T00:01:00Z");
  EXPECT_EQ(Next("*/20 3 * * *", "2026-01-01T00:00:00Z", 4),
            "2026-01-01T03:00:00Z 2026-01-01T03:20:00Z 2026-01-01T03:40:00Z "
            "2026-01-02T03:00:00Z");
  EXPECT_EQ(Next("5,10-11 0 * jan mon", "2026-01-01T00:00:00Z", 4),
            "2026-01-05T00:05:00Z 2026-01-05T00:10:00Z 2026-01-05T00:11:00Z "
            "2026-01-12T00:05:00Z");
}

TEST(ScheduleNext, TakesADayOfTheMonthOrOfTheWeekIfBothAreRestricted) {
  EXPECT_EQ(Next("0 0 13 * fri", "2026-01-01T00:00:00Z", 3),
            "2026-01-02T00:00:00Z 2026-01-09T00:00:00Z 2026-01-13T00:00:00Z");
  EXPECT_EQ(Next("0 0 13 * *", "2026-01-01T00:00:00Z"), "2026-01-13T00:00:00Z");
}

TEST(ScheduleNext, KnowsDescriptors) {
  EXPECT_EQ(Next("@hourly", "2026-01-01T00:30:00Z"), "2026-01-01T01:00:00Z");
  EXPECT_EQ(Next("@daily", "2026-01-01T00:30:00Z"), "2026-01-02T00:00:00Z");
  EXPECT_EQ(Next("@weekly", "2026-01-01T00:30:00Z"), "2026-01-04T00:00:00Z");
  EXPECT_EQ(Next("@monthly", "2026-01-01T00:30:00Z"), "2026-02-01T00:00:00Z");
  EXPECT_EQ(Next("@yearly", "2026-01-01T00:30:00Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(Next("@every 90s", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:30Z");
}

TEST(ScheduleNext, EndsWhereThereIsNone) {
  EXPECT_EQ(Next("0 0 30 2 *", "2026-01-01T00:00:00Z"), "never");
  EXPECT_EQ(Next("0 0 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_FALSE(Schedule::Parse("0 0").has_value());
}

}  // namespace
}  // namespace portcullis::registry
