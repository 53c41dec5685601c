// SPDX-License-Identifier: Apache-2.0

#include "golang/time.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "base/strings.h"

namespace portcullis::golang {
namespace {

constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";
constexpr std::int64_t kDay = 86400;
constexpr std::uint64_t kSecond = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The time package has its own %q: whatever is no printable ASCII is written byte by byte.
std::string Quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || byte < ' ') {
      out.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    } else {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
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
  if (value < 0) out += '-';
  const std::string digits = std::to_string(std::abs(value));
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

// Reads a time element by element; after the first failure error() says why.
class TimeReader {
 public:
  TimeReader(std::string_view text, std::string_view layout)
      : text_(text), rest_(text), layout_(layout) {}

  // `least` to `digits` digits, as many as there are.
  int Number(std::size_t least, std::size_t digits, std::string_view element) {
    std::size_t size = 0;
    int value = 0;
    for (; size < digits && size < rest_.size() && IsDigit(rest_[size]); ++size) {
      value = value * 10 + (rest_[size] - '0');
    }
    if (size < least) return Cannot(element);
    return failed_ ? 0 : Take(size, value);
  }

  void Literal(std::string_view literal) {
    if (!rest_.starts_with(literal)) Cannot(literal);
    if (!failed_) rest_.remove_prefix(literal.size());
  }

  // An optional fraction of a second; digits beyond nanoseconds do not count.
  std::int32_t Fraction() {
    if (failed_ || rest_.size() < 2 || !IsPoint(rest_[0]) || !IsDigit(rest_[1])) return 0;
    std::size_t end = 1;
    std::int32_t nanos = 0;
    for (std::int32_t unit = 100'000'000; end < rest_.size() && IsDigit(rest_[end]); ++end) {
      nanos += unit * (rest_[end] - '0');
      unit /= 10;
    }
    return Take(end, nanos);
  }

  // A point and six characters, which Go reads as a number: it may have a sign.
  std::int32_t Micros() {
    constexpr std::string_view kElement = ".000000";
    if (failed_ || rest_.size() < kElement.size() || !IsPoint(rest_[0])) return Cannot(kElement);
    std::string_view digits = rest_.substr(1, 6);
    const bool has_sign = digits[0] == '-' || digits[0] == '+';
    const bool is_negative = digits[0] == '-';
    if (has_sign) digits.remove_prefix(1);
    std::int32_t micros = 0;
    for (const char c : digits) {
      if (!IsDigit(c)) return Cannot(kElement);
      micros = micros * 10 + (c - '0');
    }
    if (is_negative && micros > 0) return OutOfRange("fractional second");
    return Take(kElement.size(), micros * 1000);
  }

  // "Z" or "+hh:mm"; seconds east of UTC. Go allows 24 hours and 60 minutes.
  int Zone() {
    constexpr std::string_view kElement = "Z07:00";
    if (failed_) return 0;
    if (rest_.starts_with('Z')) return Take(1, 0);
    const std::string_view at = rest_;
    if (at.size() < 6 || at[3] != ':' || !IsDigit(at[1]) || !IsDigit(at[2]) || !IsDigit(at[4]) ||
        !IsDigit(at[5])) {
      return Cannot(kElement);
    }
    const int hours = (at[1] - '0') * 10 + (at[2] - '0');
    const int minutes = (at[4] - '0') * 10 + (at[5] - '0');
    if (minutes > 60) return OutOfRange("time zone offset minute");
    if (hours > 24) return OutOfRange("time zone offset hour");
    if (at[0] != '+' && at[0] != '-') return Cannot(kElement);
    return Take(6, (hours * 60 + minutes) * (at[0] == '-' ? -60 : 60));
  }

  int OutOfRange(std::string_view what) { return Fail(base::StrCat(": ", what, " out of range")); }

  void End() {
    if (!rest_.empty()) Fail(base::StrCat(": extra text: ", Quote(rest_)));
  }

  bool failed() const { return failed_; }
  base::Status error() const { return base::BadRequest(error_); }

 private:
  static bool IsPoint(char c) { return c == '.' || c == ','; }
  int Take(std::size_t size, int value) {
    rest_.remove_prefix(size);
    return value;
  }
  int Fail(std::string_view why) {
    if (!failed_) error_ = base::StrCat("parsing time ", Quote(text_), why);
    failed_ = true;
    return 0;
  }
  int Cannot(std::string_view element) {
    return Fail(base::StrCat(" as ", Quote(layout_), ": cannot parse ", Quote(rest_), " as ",
                             Quote(element)));
  }

  const std::string_view text_;
  std::string_view rest_;
  const std::string_view layout_;
  bool failed_ = false;
  std::string error_;
};

base::Result<Moment> ReadTime(std::string_view text, bool has_micros, int* offset_seconds) {
  TimeReader reader(text, has_micros ? kMicroLayout : kLayout);
  const int year = reader.Number(4, 4, "2006");
  reader.Literal("-");
  const int month = reader.Number(2, 2, "01");
  if (month < 1 || month > 12) reader.OutOfRange("month");
  reader.Literal("-");
  const int day = reader.Number(2, 2, "02");
  reader.Literal("T");
  const int hour = reader.Number(1, 2, "15");
  if (hour > 23) reader.OutOfRange("hour");
  reader.Literal(":");
  const int minute = reader.Number(2, 2, "04");
  if (minute > 59) reader.OutOfRange("minute");
  reader.Literal(":");
  const int second = reader.Number(2, 2, "05");
  if (second > 59) reader.OutOfRange("second");
  const std::int32_t nanos = has_micros ? reader.Micros() : reader.Fraction();
  const int offset = reader.Zone();
  reader.End();
  if (!reader.failed() && (day < 1 || day > DaysIn(year, month))) reader.OutOfRange("day");
  if (reader.failed()) return reader.error();
  if (offset_seconds != nullptr) *offset_seconds = offset;
  return Moment{FromCivil(year, month, day, hour, minute, second) - offset, nanos};
}

// "2026-01-02T03:04:05".
std::string FormatSeconds(std::int64_t seconds) {
  const CivilTime civil = ToCivil(seconds);
  std::string out;
  AppendPadded(out, civil.year, 4);
  for (const auto& [mark, value] :
       {std::pair('-', civil.month), std::pair('-', civil.day), std::pair('T', civil.hour),
        std::pair(':', civil.minute), std::pair(':', civil.second)}) {
    out.push_back(mark);
    AppendPadded(out, value, 2);
  }
  return out;
}

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1000},
                                         {"\xC2\xB5s", 1000},
                                         {"\xCE\xBCs", 1000},
                                         {"ms", 1'000'000},
                                         {"s", kSecond},
                                         {"m", 60 * kSecond},
                                         {"h", 3600 * kSecond}}};

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// Durations are added up without a sign: one more than the largest positive one is allowed.
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

// Digits off the front of `text`; false if they are more than kLimit.
bool TakeWhole(std::string_view& text, std::uint64_t& value) {
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    if (value > kLimit / 10) return false;
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (value > kLimit) return false;
  }
  text.remove_prefix(at);
  return true;
}

// Digits behind a point: `value` of `scale`. Those that do not fit are passed over.
void TakeFraction(std::string_view& text, double& value, double& scale) {
  std::uint64_t digits = 0;
  bool is_full = false;
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    if (is_full) continue;
    const auto digit = static_cast<std::uint64_t>(text[at] - '0');
    is_full = digits > (kLimit - 1) / 10 || digits * 10 + digit > kLimit;
    if (is_full) continue;
    digits = digits * 10 + digit;
    scale *= 10;
  }
  value = static_cast<double>(digits);
  text.remove_prefix(at);
}

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

base::Result<Moment> ParseTime(std::string_view text, int* offset_seconds) {
  return ReadTime(text, false, offset_seconds);
}

base::Result<Moment> ParseMicroTime(std::string_view text) { return ReadTime(text, true, nullptr); }

std::string FormatTime(const Moment& moment) { return FormatSeconds(moment.seconds) + "Z"; }

std::string FormatMicroTime(const Moment& moment) {
  std::string out = FormatSeconds(moment.seconds) + ".";
  AppendPadded(out, moment.nanos / 1000, 6);
  return out + "Z";
}

std::string FormatTimeNano(const Moment& moment, int offset_minutes) {
  std::string out = FormatSeconds(moment.seconds + std::int64_t{60} * offset_minutes);
  AppendFraction(out, static_cast<std::uint32_t>(moment.nanos));
  if (offset_minutes == 0) return out + 'Z';
  const int minutes = std::abs(offset_minutes);
  out += offset_minutes < 0 ? '-' : '+';
  AppendPadded(out, minutes / 60, 2);
  out += ':';
  AppendPadded(out, minutes % 60, 2);
  return out;
}

std::string TimeText(const Moment& moment, int offset_minutes) {
  std::string out = FormatSeconds(moment.seconds + std::int64_t{60} * offset_minutes);
  out[out.find('T')] = ' ';
  AppendFraction(out, static_cast<std::uint32_t>(moment.nanos));
  const int minutes = std::abs(offset_minutes);
  std::string zone(1, offset_minutes < 0 ? '-' : '+');
  AppendPadded(zone, minutes / 60, 2);
  AppendPadded(zone, minutes % 60, 2);
  return base::StrCat(out, " ", zone, " ", offset_minutes == 0 ? "UTC" : zone);
}

std::string DurationText(std::int64_t nanoseconds) {
  constexpr std::uint64_t kWhole = 1'000'000'000;
  struct Part {
    std::string_view name;
    std::uint64_t size;
  };
  constexpr Part kParts[] = {{"s", kWhole}, {"ms", 1'000'000}, {"µs", 1'000}, {"ns", 1}};
  if (nanoseconds == 0) return "0s";
  std::uint64_t left = static_cast<std::uint64_t>(nanoseconds);
  if (nanoseconds < 0) left = 0 - left;
  std::string out(nanoseconds < 0 ? "-" : "");
  const std::uint64_t minutes = left / kWhole / 60;
  if (minutes >= 60) out += base::StrCat(std::to_string(minutes / 60), "h");
  if (minutes > 0) out += base::StrCat(std::to_string(minutes % 60), "m");
  left -= minutes * 60 * kWhole;
  const Part* unit = kParts;
  while (minutes == 0 && left < unit->size) ++unit;
  out += std::to_string(left / unit->size);
  std::string fraction = std::to_string(unit->size + left % unit->size);
  fraction.front() = '.';
  while (fraction.back() == '0') fraction.pop_back();
  if (fraction.size() > 1) out += fraction;
  return base::StrCat(out, unit->name);
}

base::Result<std::int64_t> ParseDuration(std::string_view text) {
  const auto fail = [text](std::string_view why) {
    return base::BadRequest(base::StrCat("time: ", why, " duration ", Quote(text)));
  };
  std::string_view rest = text;
  const bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return std::int64_t{0};
  if (rest.empty()) return fail("invalid");
  std::uint64_t total = 0;
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    std::uint64_t part = 0;
    double fraction = 0;
    double scale = 1;
    if (!TakeWhole(rest, part)) return fail("invalid");
    std::size_t digits = before - rest.size();
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      const std::size_t point = rest.size();
      TakeFraction(rest, fraction, scale);
      digits += point - rest.size();
    }
    if (digits == 0) return fail("invalid");
    std::size_t length = 0;
    while (length < rest.size() && rest[length] != '.' && !IsDigit(rest[length])) ++length;
    if (length == 0) return fail("missing unit in");
    const Unit* unit = FindUnit(rest.substr(0, length));
    if (unit == nullptr) {
      return fail(base::StrCat("unknown unit ", Quote(rest.substr(0, length)), " in"));
    }
    rest.remove_prefix(length);
    if (part > kLimit / unit->nanoseconds) return fail("invalid");
    part *= unit->nanoseconds;
    // In floating point, as Go has it: the last nanoseconds are those of Go.
    if (fraction > 0) {
      part +=
          static_cast<std::uint64_t>(fraction * (static_cast<double>(unit->nanoseconds) / scale));
    }
    total += part;
    if (part > kLimit || total > kLimit) return fail("invalid");
  }
  if (is_negative) return static_cast<std::int64_t>(0 - total);
  if (total >= kLimit) return fail("invalid");
  return static_cast<std::int64_t>(total);
}

}  // namespace portcullis::golang
