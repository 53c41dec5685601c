// SPDX-License-Identifier: Apache-2.0

// Whole numbers of any length as text: digits without leading zeros, "0" for nothing. For amounts
// that do not fit 128 bits, which are rare: nothing here is fast.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis::api {

// -1, 0 or 1.
int CompareDigits(std::string_view left, std::string_view right);
std::string AddDigits(std::string_view left, std::string_view right);
// REQUIRES: left >= right.
std::string SubtractDigits(std::string_view left, std::string_view right);
std::string MultiplyDigits(std::string_view digits, std::uint32_t factor);
// The quotient; `rest` is set to the remainder.
std::string DivideDigits(std::string_view digits, std::uint32_t divisor, std::uint32_t& rest);
// Divided by 10^places, rounded up; sets `exact` to false if that was needed.
std::string LowerDigits(std::string_view digits, int places, bool& exact);

}  // namespace portcullis::api
