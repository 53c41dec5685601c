// The times and durations of the API: read and written as Go's time package does for
// metav1.Time, metav1.MicroTime and metav1.Duration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::api {

// A moment in UTC with the precision of nanoseconds; covers years 0 to 9999.
struct Moment {
  std::int64_t seconds = 0;  // since 1970
  std::int32_t nanos = 0;
  auto operator<=>(const Moment&) const = default;
};

// time.Parse(time.RFC3339, text), with its error texts:
// `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`.
base::Result<Moment> ParseTime(std::string_view text);
// The same with exactly six digits of fraction.
base::Result<Moment> ParseMicroTime(std::string_view text);
std::string FormatTime(const Moment& moment);       // "2026-01-02T03:04:05Z"
std::string FormatMicroTime(const Moment& moment);  // "2026-01-02T03:04:05.000006Z"

// time.ParseDuration: "1h2m3.5s", "300ms"; nanoseconds. Errors `time: invalid duration "x"`,
// `time: missing unit in duration "5"`, `time: unknown unit "x" in duration "5x"`.
base::Result<std::int64_t> ParseDuration(std::string_view text);

}  // namespace portcullis::api
