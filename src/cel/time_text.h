// SPDX-License-Identifier: Apache-2.0

// The range of CEL's timestamps, and durations as its string() writes them. Everything else about
// times is golang/time.h.
#pragma once

#include <cstdint>
#include <string>

#include "cel/value.h"
#include "golang/time.h"

namespace portcullis::cel {

inline constexpr std::int64_t kMinTimestamp = -62135596800;  // 0001-01-01T00:00:00Z
inline constexpr std::int64_t kMaxTimestamp = 253402300799;  // 9999-12-31T23:59:59Z

// The moment of a timestamp.
inline golang::Moment MomentOf(Value value) {
  return {value.seconds(), static_cast<std::int32_t>(value.nanos())};
}
// Decimal seconds: `90s`, `-1.5s`.
std::string FormatDuration(std::int64_t nanoseconds);

}  // namespace portcullis::cel
