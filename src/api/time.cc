#include "api/time.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api {
namespace {

constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

// Howard Hinnant's civil-from-days arithmetic is in std::chrono.
std::int64_t DaysFromCivil(int year, unsigned month, unsigned day) {
  using std::chrono::sys_days;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  return sys_days(date).time_since_epoch().count();
}

unsigned DaysIn(int year, unsigned month) {
  const std::chrono::year_month_day_last last{
      std::chrono::year(year), std::chrono::month_day_last(std::chrono::month(month))};
  return static_cast<unsigned>(last.day());
}

// Reads a time element by element; after the first failure error() says why.
class Parser {
 public:
  Parser(std::string_view text, std::string_view layout)
      : text_(text), rest_(text), layout_(layout) {}

  int Number(std::size_t digits, std::string_view element) {
    if (failed_) return 0;
    int value = 0;
    if (rest_.size() < digits) return Cannot(element);
    for (std::size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return Cannot(element);
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value;
  }

  void Literal(std::string_view literal) {
    if (failed_) return;
    if (!rest_.starts_with(literal)) {
      Cannot(literal);
      return;
    }
    rest_.remove_prefix(literal.size());
  }

  // An optional fraction of a second, with '.' or ','; or exactly six digits.
  std::int32_t Fraction(bool exact) {
    if (failed_) return 0;
    const bool present = rest_.size() >= 2 && (rest_[0] == '.' || rest_[0] == ',') &&
                         rest_[1] >= '0' && rest_[1] <= '9';
    if (!present) return exact ? Cannot(".000000") : 0;
    std::size_t end = 1;
    std::int32_t nanos = 0;
    std::int32_t unit = 100'000'000;
    while (end < rest_.size() && rest_[end] >= '0' && rest_[end] <= '9') {
      nanos += unit * (rest_[end] - '0');
      unit /= 10;
      ++end;
      if (exact && end == 7) break;
    }
    if (exact && end != 7) return Cannot(".000000");
    rest_.remove_prefix(end);
    return nanos;
  }

  // "Z" or "+hh:mm"; seconds east of UTC.
  int Zone() {
    if (failed_) return 0;
    if (rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      return 0;
    }
    const std::string_view at = rest_;
    const bool shaped = at.size() >= 6 && (at[0] == '+' || at[0] == '-') && at[3] == ':';
    if (!shaped) return Cannot("Z07:00");
    for (const std::size_t i : {1U, 2U, 4U, 5U}) {
      if (at[i] < '0' || at[i] > '9') return Cannot("Z07:00");
    }
    const int hours = (at[1] - '0') * 10 + (at[2] - '0');
    const int minutes = (at[4] - '0') * 10 + (at[5] - '0');
    if (hours > 24) return OutOfRange("time zone offset hour");
    if (minutes > 60) return OutOfRange("time zone offset minute");
    rest_.remove_prefix(6);
    return (hours * 60 + minutes) * (at[0] == '-' ? -60 : 60);
  }

  int OutOfRange(std::string_view what) {
    if (!failed_) Fail(base::StrCat(Quoted(), ": ", what, " out of range"));
    return 0;
  }

  void End() {
    if (!failed_ && !rest_.empty()) {
      Fail(base::StrCat(Quoted(), ": extra text: ", base::GoQuote(rest_)));
    }
  }

  bool failed() const { return failed_; }
  base::Status error() const { return base::BadRequest(error_); }

 private:
  std::string Quoted() const { return base::StrCat("parsing time ", base::GoQuote(text_)); }
  void Fail(std::string text) {
    failed_ = true;
    error_ = std::move(text);
  }
  int Cannot(std::string_view element) {
    Fail(base::StrCat(Quoted(), " as ", base::GoQuote(layout_), ": cannot parse ",
                      base::GoQuote(rest_), " as ", base::GoQuote(element)));
    return 0;
  }

  std::string_view text_;
  std::string_view rest_;
  std::string_view layout_;
  bool failed_ = false;
  std::string error_;
};

base::Result<Moment> ParseMoment(std::string_view text, std::string_view layout, bool micro) {
  Parser parser(text, layout);
  const int year = parser.Number(4, "2006");
  parser.Literal("-");
  const int month = parser.Number(2, "01");
  if (!parser.failed() && (month < 1 || month > 12)) parser.OutOfRange("month");
  parser.Literal("-");
  const int day = parser.Number(2, "02");
  parser.Literal("T");
  const int hour = parser.Number(2, "15");
  if (hour > 23) parser.OutOfRange("hour");
  parser.Literal(":");
  const int minute = parser.Number(2, "04");
  if (minute > 59) parser.OutOfRange("minute");
  parser.Literal(":");
  const int second = parser.Number(2, "05");
  if (second > 59) parser.OutOfRange("second");
  const std::int32_t nanos = parser.Fraction(micro);
  const int offset = parser.Zone();
  parser.End();
  if (!parser.failed() &&
      (day < 1 || day > static_cast<int>(DaysIn(year, static_cast<unsigned>(month))))) {
    parser.OutOfRange("day");
  }
  if (parser.failed()) return parser.error();
  const std::int64_t days =
      DaysFromCivil(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
  return Moment{days * 86400 + hour * 3600 + minute * 60 + second - offset, nanos};
}

std::string FormatSeconds(std::int64_t seconds) {
  std::int64_t days = seconds / 86400;
  std::int64_t left = seconds % 86400;
  if (left < 0) {
    left += 86400;
    --days;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  std::array<char, 64> buffer{};
  const int length = std::snprintf(
      buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(left / 3600), static_cast<int>(left / 60 % 60), static_cast<int>(left % 60));
  return std::string(buffer.data(), static_cast<std::size_t>(length));
}

struct DurationUnit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array<DurationUnit, 8> kUnits = {{{"ns", 1},
                                                 {"us", 1000},
                                                 {"\xC2\xB5s", 1000},
                                                 {"\xCE\xBCs", 1000},
                                                 {"ms", 1'000'000},
                                                 {"s", 1'000'000'000},
                                                 {"m", 60'000'000'000},
                                                 {"h", 3'600'000'000'000}}};

std::optional<std::int64_t> UnitOf(std::string_view name) {
  for (const DurationUnit& unit : kUnits) {
    if (unit.name == name) return unit.nanos;
  }
  return std::nullopt;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

base::Result<Moment> ParseTime(std::string_view text) { return ParseMoment(text, kLayout, false); }

base::Result<Moment> ParseMicroTime(std::string_view text) {
  return ParseMoment(text, kMicroLayout, true);
}

std::string FormatTime(const Moment& moment) { return FormatSeconds(moment.seconds) + "Z"; }

std::string FormatMicroTime(const Moment& moment) {
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(moment.nanos / 1000));
  return FormatSeconds(moment.seconds) + fraction.data();
}

base::Result<std::int64_t> ParseDuration(std::string_view text) {
  const auto invalid = [&] {
    return base::BadRequest("time: invalid duration " + base::GoQuote(text));
  };
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return std::int64_t{0};
  if (rest.empty()) return invalid();
  __extension__ using Wide = __int128;
  Wide total = 0;
  while (!rest.empty()) {
    std::size_t end = 0;
    Wide value = 0;
    Wide fraction = 0;
    Wide scale = 1;
    bool digits = false;
    for (; end < rest.size() && IsDigit(rest[end]); ++end, digits = true) {
      value = value * 10 + (rest[end] - '0');
      if (value > std::numeric_limits<std::int64_t>::max()) return invalid();
    }
    if (end < rest.size() && rest[end] == '.') {
      for (++end; end < rest.size() && IsDigit(rest[end]); ++end, digits = true) {
        if (scale > 1'000'000'000'000'000) continue;
        fraction = fraction * 10 + (rest[end] - '0');
        scale *= 10;
      }
    }
    if (!digits) return invalid();
    rest.remove_prefix(end);
    end = 0;
    while (end < rest.size() && rest[end] != '.' && !IsDigit(rest[end])) ++end;
    if (end == 0) {
      return base::BadRequest("time: missing unit in duration " + base::GoQuote(text));
    }
    const std::string_view name = rest.substr(0, end);
    const auto unit = UnitOf(name);
    if (!unit) {
      return base::BadRequest(base::StrCat("time: unknown unit ", base::GoQuote(name),
                                           " in duration ", base::GoQuote(text)));
    }
    total += value * *unit + fraction * *unit / scale;
    if (total > std::numeric_limits<std::int64_t>::max()) return invalid();
    rest.remove_prefix(end);
  }
  return static_cast<std::int64_t>(negative ? -total : total);
}

}  // namespace portcullis::api
