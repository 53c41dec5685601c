// Timestamps and durations as text, and calendar arithmetic, as Go's time package does it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portcullis::cel {

inline constexpr std::int64_t kMinTimestamp = -62135596800;  // 0001-01-01T00:00:00Z
inline constexpr std::int64_t kMaxTimestamp = 253402300799;  // 9999-12-31T23:59:59Z

struct Instant {
  std::int64_t seconds = 0;
  std::uint32_t nanos = 0;
  int offset_minutes = 0;  // as written; the instant itself is UTC
};

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

// Proleptic Gregorian, UTC.
CivilTime ToCivil(std::int64_t seconds);
std::int64_t FromCivil(std::int64_t year, int month, int day, int hour, int minute, int second);

// RFC 3339 with an offset or Z; no value if malformed. The range of CEL is not checked.
std::optional<Instant> ParseTimestamp(std::string_view text);
// `2023-02-03T23:31:20.5Z`, or the time of the clock with its offset: `2023-02-04T01:31:20.5+02:00`
std::string FormatTimestamp(std::int64_t seconds, std::uint32_t nanos, int offset_minutes = 0);

// Go's ParseDuration: `1h2m3.5s`, `-90ms`; no value if malformed or out of range.
std::optional<std::int64_t> ParseDuration(std::string_view text);
// Decimal seconds: `90s`, `-1.5s`.
std::string FormatDuration(std::int64_t nanoseconds);
// Go's %g of the shortest digits: `1e+06`, `0.0001`, `NaN`, `+Inf`. Exponent form from 10^limit on:
// 6 is CEL's string(double), 21 is fmt's %v.
std::string FormatDouble(double value, int limit = 6);

}  // namespace portcullis::cel
