// SPDX-License-Identifier: Apache-2.0

// Numbers and truth values as Go's strconv reads and writes them. Pure functions.
//
// An error is a BadRequest with Go's text: `strconv.ParseInt: parsing "x": invalid syntax`,
// `strconv.Atoi: parsing "9999999999999999999": value out of range`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::golang {

// strconv.ParseInt and ParseUint. `base` is 10, or 0: prefixes 0x, 0o, 0b and 0, and underscores
// between digits count. `bits`: the range of the result.
base::Result<std::int64_t> ParseInt(std::string_view text, int base = 10, int bits = 64);
base::Result<std::uint64_t> ParseUint(std::string_view text, int base = 10, int bits = 64);
// strconv.Atoi: ParseInt with its own name in errors.
base::Result<std::int64_t> Atoi(std::string_view text);
// 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False.
base::Result<bool> ParseBool(std::string_view text);

// strconv.FormatFloat(value, 'g', -1, 64), which is also fmt's %v: the shortest digits that read back as the same number,
// with an exponent below 1e-04 and from 1e+06 on: "0.5", "1e+06", "NaN", "+Inf", "-0".
std::string FormatFloat(double value);
std::string FormatFloat(float value);

}  // namespace portcullis::golang
