// SPDX-License-Identifier: Apache-2.0

// Times as they stand in headers of HTTP. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portcullis::golang {

// http.ParseTime: "Sun, 06 Nov 1994 08:49:37 GMT" and the two older forms; seconds since 1970.
std::optional<std::int64_t> ParseHttpTime(std::string_view text);
// "Sun, 06 Nov 1994 08:49:37 " and the zone, which is one of UTC, of so many seconds since 1970.
std::string FormatHttpTime(std::int64_t seconds, std::string_view zone = "GMT");

}  // namespace portcullis::golang
