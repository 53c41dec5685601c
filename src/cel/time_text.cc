// SPDX-License-Identifier: Apache-2.0

#include "cel/time_text.h"

#include <array>
#include <charconv>

namespace portcullis::cel {

std::string FormatDuration(std::int64_t nanoseconds) {
  // As a double, like Go's Seconds(): long durations lose their last digits.
  constexpr std::int64_t kSecond = std::int64_t{1'000'000'000};
  const double seconds =
      static_cast<double>(nanoseconds / kSecond) + static_cast<double>(nanoseconds % kSecond) / 1e9;
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds,
                                    std::chars_format::fixed);
  return std::string(buffer.data(), result.ptr) + "s";
}

}  // namespace portcullis::cel
