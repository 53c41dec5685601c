#include "cel/time_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace portcullis::cel {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::uint64_t kNano = 1000000000;

bool Digits(std::string_view text, std::size_t at, std::size_t count, int& value) {
  if (at + count > text.size()) return false;
  value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  return true;
}

int DaysIn(std::int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

// Days from 1970-01-01; months counted from March so that the leap day is the last of a year.
std::int64_t DaysFromCivil(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const int shifted = month > 2 ? month - 3 : month + 9;
  const std::int64_t of_year = (153 * shifted + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void AppendPadded(std::string& out, std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

void AppendFraction(std::string& out, std::uint32_t nanos) {
  if (nanos == 0) return;
  std::string digits;
  AppendPadded(digits, nanos, 9);
  while (digits.back() == '0') digits.pop_back();
  out += '.' + digits;
}

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1000},
                                         {"\xC2\xB5s", 1000},
                                         {"\xCE\xBCs", 1000},
                                         {"ms", 1000000},
                                         {"s", kNano},
                                         {"m", 60 * kNano},
                                         {"h", 3600 * kNano}}};

}  // namespace

CivilTime ToCivil(std::int64_t seconds) {
  std::int64_t days = seconds / kDay;
  std::int64_t rest = seconds % kDay;
  if (rest < 0) {
    rest += kDay;
    --days;
  }
  CivilTime civil;
  civil.hour = static_cast<int>(rest / 3600);
  civil.minute = static_cast<int>(rest % 3600 / 60);
  civil.second = static_cast<int>(rest % 60);
  civil.weekday = static_cast<int>(((days + 4) % 7 + 7) % 7);
  const std::int64_t shifted = days + 719468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const std::int64_t of_era = shifted - era * 146097;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;
  civil.day = static_cast<int>(of_year - (153 * month + 2) / 5 + 1);
  civil.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  civil.year = year + era * 400 + (civil.month <= 2 ? 1 : 0);
  civil.yearday = static_cast<int>(days - DaysFromCivil(civil.year, 1, 1));
  return civil;
}

std::int64_t FromCivil(std::int64_t year, int month, int day, int hour, int minute, int second) {
  return DaysFromCivil(year, month, day) * kDay + hour * 3600 + minute * 60 + second;
}

std::optional<Instant> ParseTimestamp(std::string_view text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (text.size() < 20 || !Digits(text, 0, 4, year) || text[4] != '-' ||
      !Digits(text, 5, 2, month) || text[7] != '-' || !Digits(text, 8, 2, day) || text[10] != 'T' ||
      !Digits(text, 11, 2, hour) || text[13] != ':' || !Digits(text, 14, 2, minute) ||
      text[16] != ':' || !Digits(text, 17, 2, second)) {
    return std::nullopt;
  }
  if (month < 1 || month > 12 || day < 1 || day > DaysIn(year, month) || hour > 23 || minute > 59 ||
      second > 59) {
    return std::nullopt;
  }
  std::size_t at = 19;
  Instant instant;
  if (text[at] == '.' || text[at] == ',') {
    std::size_t digits = 0;
    std::uint32_t scale = 100000000;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
      instant.nanos += static_cast<std::uint32_t>(text[at] - '0') * scale;
      scale /= 10;
    }
    if (digits == 0) return std::nullopt;
  }
  std::int64_t offset = 0;
  const std::string_view zone = text.substr(at);
  if (zone != "Z") {
    int zone_hour = 0;
    int zone_minute = 0;
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':' ||
        !Digits(zone, 1, 2, zone_hour) || !Digits(zone, 4, 2, zone_minute) || zone_hour > 23 ||
        zone_minute > 59) {
      return std::nullopt;
    }
    offset = (zone_hour * 60 + zone_minute) * 60;
    if (zone[0] == '-') offset = -offset;
  }
  instant.seconds = FromCivil(year, month, day, hour, minute, second) - offset;
  instant.offset_minutes = static_cast<int>(offset / 60);
  return instant;
}

std::string FormatTimestamp(std::int64_t seconds, std::uint32_t nanos, int offset_minutes) {
  const CivilTime civil = ToCivil(seconds + std::int64_t{60} * offset_minutes);
  std::string out;
  AppendPadded(out, civil.year, 4);
  out += '-';
  AppendPadded(out, civil.month, 2);
  out += '-';
  AppendPadded(out, civil.day, 2);
  out += 'T';
  AppendPadded(out, civil.hour, 2);
  out += ':';
  AppendPadded(out, civil.minute, 2);
  out += ':';
  AppendPadded(out, civil.second, 2);
  AppendFraction(out, nanos);
  if (offset_minutes == 0) return out + 'Z';
  const int minutes = std::abs(offset_minutes);
  out += offset_minutes < 0 ? '-' : '+';
  AppendPadded(out, minutes / 60, 2);
  out += ':';
  AppendPadded(out, minutes % 60, 2);
  return out;
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  std::uint64_t total = 0;
  while (!text.empty()) {
    std::uint64_t whole = 0;
    std::size_t at = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      if (whole > kLimit / 10) return std::nullopt;
      whole = whole * 10 + static_cast<std::uint64_t>(text[at] - '0');
      if (whole > kLimit) return std::nullopt;
    }
    std::size_t digits = at;
    double fraction = 0;
    double scale = 1;
    if (at < text.size() && text[at] == '.') {
      bool full = false;
      std::uint64_t value = 0;
      for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
        if (full || value > (kLimit - 1) / 10) {
          full = true;
          continue;
        }
        value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
        scale *= 10;
      }
      fraction = static_cast<double>(value);
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(at);
    std::size_t length = 0;
    while (length < text.size() && text[length] != '.' &&
           !(text[length] >= '0' && text[length] <= '9')) {
      ++length;
    }
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits) {
      if (candidate.name == text.substr(0, length)) unit = &candidate;
    }
    if (!unit) return std::nullopt;
    text.remove_prefix(length);
    if (whole > kLimit / unit->nanoseconds) return std::nullopt;
    std::uint64_t part = whole * unit->nanoseconds;
    if (fraction > 0) {
      part +=
          static_cast<std::uint64_t>(fraction * (static_cast<double>(unit->nanoseconds) / scale));
      if (part > kLimit) return std::nullopt;
    }
    total += part;
    if (total > kLimit) return std::nullopt;
  }
  if (negative) return static_cast<std::int64_t>(0 - total);
  if (total >= kLimit) return std::nullopt;
  return static_cast<std::int64_t>(total);
}

std::string FormatDuration(std::int64_t nanoseconds) {
  // As a double, like Go's Seconds(): long durations lose their last digits.
  constexpr auto kSecond = static_cast<std::int64_t>(kNano);
  const double seconds =
      static_cast<double>(nanoseconds / kSecond) + static_cast<double>(nanoseconds % kSecond) / 1e9;
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), seconds,
                                    std::chars_format::fixed);
  return std::string(buffer.data(), result.ptr) + "s";
}

std::string FormatDouble(double value, int limit) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
  const auto mark = text.find('e');
  int exponent = 0;
  const char* first = text.data() + mark + 1;
  if (*first == '+') ++first;
  std::from_chars(first, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= limit) return std::string(text);
  std::string digits;
  std::string out;
  for (const char c : text.substr(0, mark)) {
    if (c == '-') {
      out += '-';
    } else if (c != '.') {
      digits += c;
    }
  }
  if (exponent < 0) {
    out += "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    return out;
  }
  const auto whole = static_cast<std::size_t>(exponent + 1);
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0');
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace portcullis::cel
