// SPDX-License-Identifier: Apache-2.0

// Times and durations as Go's time package reads and writes them, and the calendar behind them.
// Pure functions. (What a clock says is written by base/clock.h.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::golang {

// A moment in UTC with the precision of nanoseconds; covers years 0 to 9999.
struct Moment {
  std::int64_t seconds = 0;  // since 1970
  std::int32_t nanos = 0;
  auto operator<=>(const Moment&) const = default;
};

// Proleptic Gregorian, UTC.
struct CivilTime {
  std::int64_t year = 1970;
  int month = 1;  // 1–12
  int day = 1;    // 1–31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int weekday = 4;  // 0 is Sunday
  int yearday = 0;  // from 0
};
CivilTime ToCivil(std::int64_t seconds);
std::int64_t FromCivil(std::int64_t year, int month, int day, int hour, int minute, int second);

// time.Parse(time.RFC3339, text), with its error texts: `parsing time "x" as
// "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`. `offset_seconds`, unless null, receives
// the zone as written, east of UTC.
base::Result<Moment> ParseTime(std::string_view text, int* offset_seconds = nullptr);
// The same with exactly six digits of fraction, as metav1.MicroTime has them.
base::Result<Moment> ParseMicroTime(std::string_view text);

std::string FormatTime(const Moment& moment);       // "2026-01-02T03:04:05Z"
std::string FormatMicroTime(const Moment& moment);  // "2026-01-02T03:04:05.000006Z"
// time.RFC3339Nano: "2026-01-02T03:04:05.5Z", or the time of the clock with its offset,
// "2026-01-02T05:04:05.5+02:00".
std::string FormatTimeNano(const Moment& moment, int offset_minutes = 0);

// time.Time.String() of a time in UTC or in a zone without a name: "2026-01-02 03:04:05.5 +0000 UTC",
// "2026-01-02 05:04:05.5 +0200 +0200".
std::string TimeText(const Moment& moment, int offset_minutes = 0);
// time.Duration.String(): "1h0m3.5s", "1.5ms", "0s".
std::string DurationText(std::int64_t nanoseconds);

// time.ParseDuration: "1h2m3.5s", "300ms", "-1.5h"; nanoseconds. Errors: `time: invalid duration
// "x"`, `time: missing unit in duration "5"`, `time: unknown unit "x" in duration "5x"`.
base::Result<std::int64_t> ParseDuration(std::string_view text);

}  // namespace portcullis::golang
