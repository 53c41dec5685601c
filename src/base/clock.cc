// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace portcullis::base {
namespace {

class RealClock final : public Clock {
 public:
  WallTime Now() const override { return std::chrono::system_clock::now(); }
  SteadyTime Steady() const override { return std::chrono::steady_clock::now(); }
};

std::string FormatSeconds(std::time_t seconds) {
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &fields);
  return {text.data(), size};
}

// `value` in units of 10^-digits, with its trailing zeros dropped: (1500, 3) is "1.5".
std::string FormatFraction(std::uint64_t value, int digits) {
  std::string fraction;
  for (int i = 0; i < digits; ++i) {
    const char digit = static_cast<char>('0' + value % 10);
    value /= 10;
    if (digit != '0' || !fraction.empty()) fraction.insert(fraction.begin(), digit);
  }
  std::string out = std::to_string(value);
  if (!fraction.empty()) out += "." + fraction;
  return out;
}

}  // namespace

const Clock& SystemClock() {
  static const RealClock kClock;
  return kClock;
}

std::string FormatTime(WallTime time) {
  return FormatSeconds(
             std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time))) +
         "Z";
}

std::string FormatMicroTime(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  std::array<char, 32> fraction{};  // more than needed: GCC cannot know that micros < 1e6
  std::snprintf(fraction.data(), fraction.size(), ".%06lldZ", static_cast<long long>(micros));
  return FormatSeconds(std::chrono::system_clock::to_time_t(seconds)) + fraction.data();
}

std::string FormatDuration(Duration duration) {
  const std::int64_t signed_nanos = duration.count();
  if (signed_nanos == 0) return "0s";
  std::uint64_t nanos = signed_nanos < 0 ? 0 - static_cast<std::uint64_t>(signed_nanos)
                                         : static_cast<std::uint64_t>(signed_nanos);
  std::string out = signed_nanos < 0 ? "-" : "";
  if (nanos < 1'000) return out + std::to_string(nanos) + "ns";
  if (nanos < 1'000'000) return out + FormatFraction(nanos, 3) + "µs";
  if (nanos < 1'000'000'000) return out + FormatFraction(nanos, 6) + "ms";
  const std::uint64_t minutes = nanos / 60'000'000'000;
  if (minutes >= 60) out += std::to_string(minutes / 60) + "h";
  if (minutes > 0) out += std::to_string(minutes % 60) + "m";
  return out + FormatFraction(nanos % 60'000'000'000, 9) + "s";
}

}  // namespace portcullis::base
