// SPDX-License-Identifier: Apache-2.0

// Schedules of CronJobs, with the errors of the parser that Kubernetes uses
// (github.com/robfig/cron, ParseStandard). Value types; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portcullis::registry {

// What is wrong with the schedule, "" if nothing.
std::string CheckSchedule(std::string_view schedule);

// When a schedule is due, in UTC. A time zone that the schedule names itself is not looked at.
class Schedule {
 public:
  // Nothing if CheckSchedule() finds something wrong.
  static std::optional<Schedule> Parse(std::string_view schedule);

  // The first time it is due after `after`, both in seconds since 1970; nothing if that is not
  // within five years.
  std::optional<std::int64_t> Next(std::int64_t after) const;

 private:
  bool IsDay(std::int64_t day_begin) const;

  std::int64_t every_ = 0;               // seconds of "@every"; 0: by the fields
  std::array<std::uint64_t, 5> bits_{};  // minutes, hours, days, months, weekdays
  bool any_day_ = false;                 // the day of the month is `*`
  bool any_weekday_ = false;
};

}  // namespace portcullis::registry
