// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace portcullis::base {
namespace {

class RealClock final : public Clock {
 public:
  WallTime Now() const override { return std::chrono::system_clock::now(); }
  SteadyTime Steady() const override { return std::chrono::steady_clock::now(); }
};

// The last digits of a number, as many as there is room for.
void PutDigits(std::span<char> out, std::uint64_t value) {
  for (std::size_t i = out.size(); i-- > 0; value /= 10)
    out[i] = static_cast<char>('0' + value % 10);
}

// "2026-11-27T02:39:09" and `end`. The clock's years have four digits: it ends in 2262.
std::string FormatSeconds(std::chrono::sys_seconds time, std::string_view end) {
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  std::array<char, sizeof("0000-00-00T00:00:00") - 1> text;
  std::memcpy(text.data(), "0000-00-00T00:00:00", text.size());
  const auto put = [&](std::size_t at, std::size_t digits, auto value) {
    PutDigits(std::span(text).subspan(at, digits), static_cast<std::uint64_t>(value));
  };
  put(0, 4, static_cast<int>(date.year()));
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, clock.hours().count());
  put(14, 2, clock.minutes().count());
  put(17, 2, clock.seconds().count());
  std::string out;
  out.reserve(text.size() + end.size());
  out.append(text.data(), text.size());
  out.append(end);
  return out;
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
  return FormatSeconds(std::chrono::floor<std::chrono::seconds>(time), "Z");
}

std::string FormatMicroTime(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  char fraction[] = ".000000Z";
  PutDigits(std::span(fraction).subspan(1, 6), static_cast<std::uint64_t>(micros));
  return FormatSeconds(seconds, fraction);
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
