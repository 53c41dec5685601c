// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_scalar.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/strings.h"
#include "json/yaml_node.h"

namespace portcullis::json::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t DigitRun(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  return count;
}

// Consumes one or two digits; no value if there are none or they exceed `most`.
std::optional<int> TakeSmall(std::string_view& text, int most) {
  const std::size_t count = std::min<std::size_t>(DigitRun(text), 2);
  if (count == 0) return {};
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) number = number * 10 + (text[i] - '0');
  text.remove_prefix(count);
  if (number > most) return {};
  return number;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

int DaysIn(int year, int month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// h:m:s with an optional fraction.
bool TakeTime(std::string_view& text) {
  if (!TakeSmall(text, 23) || !Take(text, ':')) return false;
  if (!TakeSmall(text, 59) || !Take(text, ':')) return false;
  if (!TakeSmall(text, 59)) return false;
  if (text.size() >= 2 && (text[0] == '.' || text[0] == ',') && IsDigit(text[1])) {
    text.remove_prefix(1);
    text.remove_prefix(DigitRun(text));
  }
  return true;
}

bool TakeZone(std::string_view& text) {
  if (Take(text, 'Z')) return true;
  if (!Take(text, '+') && !Take(text, '-')) return false;
  if (DigitRun(text) < 2 || !TakeSmall(text, 24) || !Take(text, ':')) return false;
  return DigitRun(text) >= 2 && TakeSmall(text, 59);
}

// The date and time forms go-yaml accepts.
bool IsTimestamp(std::string_view text) {
  if (DigitRun(text) != 4) return false;
  const int year =
      (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + (text[3] - '0');
  text.remove_prefix(4);
  if (!Take(text, '-')) return false;
  const auto month = TakeSmall(text, 12);
  if (!month || *month == 0 || !Take(text, '-')) return false;
  const auto day = TakeSmall(text, DaysIn(year, *month));
  if (!day || *day == 0) return false;
  if (text.empty()) return true;
  if (Take(text, 'T') || Take(text, 't')) return TakeTime(text) && TakeZone(text) && text.empty();
  return Take(text, ' ') && TakeTime(text) && text.empty();
}

struct NamedScalar {
  std::string_view text;
  YamlTag tag;
  bool truth;
  double number;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr NamedScalar kNamed[] = {
    {"y", YamlTag::kBool, true, 0},
    {"Y", YamlTag::kBool, true, 0},
    {"yes", YamlTag::kBool, true, 0},
    {"Yes", YamlTag::kBool, true, 0},
    {"YES", YamlTag::kBool, true, 0},
    {"true", YamlTag::kBool, true, 0},
    {"True", YamlTag::kBool, true, 0},
    {"TRUE", YamlTag::kBool, true, 0},
    {"on", YamlTag::kBool, true, 0},
    {"On", YamlTag::kBool, true, 0},
    {"ON", YamlTag::kBool, true, 0},
    {"n", YamlTag::kBool, false, 0},
    {"N", YamlTag::kBool, false, 0},
    {"no", YamlTag::kBool, false, 0},
    {"No", YamlTag::kBool, false, 0},
    {"NO", YamlTag::kBool, false, 0},
    {"false", YamlTag::kBool, false, 0},
    {"False", YamlTag::kBool, false, 0},
    {"FALSE", YamlTag::kBool, false, 0},
    {"off", YamlTag::kBool, false, 0},
    {"Off", YamlTag::kBool, false, 0},
    {"OFF", YamlTag::kBool, false, 0},
    {"", YamlTag::kNull, false, 0},
    {"~", YamlTag::kNull, false, 0},
    {"null", YamlTag::kNull, false, 0},
    {"Null", YamlTag::kNull, false, 0},
    {"NULL", YamlTag::kNull, false, 0},
    {".nan", YamlTag::kFloat, false, kNaN},
    {".NaN", YamlTag::kFloat, false, kNaN},
    {".NAN", YamlTag::kFloat, false, kNaN},
    {".inf", YamlTag::kFloat, false, kInfinity},
    {".Inf", YamlTag::kFloat, false, kInfinity},
    {".INF", YamlTag::kFloat, false, kInfinity},
    {"+.inf", YamlTag::kFloat, false, kInfinity},
    {"+.Inf", YamlTag::kFloat, false, kInfinity},
    {"+.INF", YamlTag::kFloat, false, kInfinity},
    {"-.inf", YamlTag::kFloat, false, -kInfinity},
    {"-.Inf", YamlTag::kFloat, false, -kInfinity},
    {"-.INF", YamlTag::kFloat, false, -kInfinity},
};

std::optional<YamlScalar> Named(std::string_view text) {
  if (text.size() > 5) return {};
  for (const NamedScalar& named : kNamed) {
    if (named.text != text) continue;
    if (named.tag == YamlTag::kBool) return YamlScalar{named.tag, named.truth};
    if (named.tag == YamlTag::kFloat) return YamlScalar{named.tag, named.number};
    return YamlScalar{named.tag, std::monostate()};
  }
  return {};
}

// [+-] (digits [. digits*] | . digits) [e [+-] digits]
bool LooksLikeFloat(std::string_view text) {
  if (!Take(text, '+')) Take(text, '-');
  const std::size_t whole = DigitRun(text);
  text.remove_prefix(whole);
  if (Take(text, '.')) {
    const std::size_t fraction = DigitRun(text);
    if (whole == 0 && fraction == 0) return false;
    text.remove_prefix(fraction);
  } else if (whole == 0) {
    return false;
  }
  if (Take(text, 'e') || Take(text, 'E')) {
    if (!Take(text, '+')) Take(text, '-');
    const std::size_t exponent = DigitRun(text);
    if (exponent == 0) return false;
    text.remove_prefix(exponent);
  }
  return text.empty();
}

// No value if it overflows: go-yaml then takes the text for a string.
std::optional<YamlScalar> Float(std::string_view text) {
  if (!LooksLikeFloat(text)) return {};
  const double number = std::strtod(std::string(text).c_str(), nullptr);
  if (std::isinf(number)) return {};
  return YamlScalar{YamlTag::kFloat, number};
}

std::optional<YamlScalar> Integer(bool negative, bool has_sign, std::string_view digits, int base) {
  std::uint64_t magnitude = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, magnitude, base);
  if (digits.empty() || error != std::errc() || stop != end) return {};
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (negative) {
    if (magnitude > kMax + 1) return {};
    return YamlScalar{YamlTag::kInt, static_cast<std::int64_t>(0 - magnitude)};
  }
  if (magnitude <= kMax) return YamlScalar{YamlTag::kInt, static_cast<std::int64_t>(magnitude)};
  if (has_sign) return {};
  return YamlScalar{YamlTag::kInt, magnitude};
}

// Go's integer literals: 12, 0x1F, 0o17, 017, 0b11, each with an optional sign.
std::optional<YamlScalar> Integer(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const bool has_sign = negative || (!text.empty() && text[0] == '+');
  if (has_sign) text.remove_prefix(1);
  if (text.size() < 2 || text[0] != '0') return Integer(negative, has_sign, text, 10);
  const std::string_view rest = text.substr(2);
  switch (text[1]) {
    case 'x':
    case 'X':
      return Integer(negative, has_sign, rest, 16);
    case 'o':
    case 'O':
      return Integer(negative, has_sign, rest, 8);
    case 'b':
    case 'B':
      return Integer(negative, has_sign, rest, 2);
    default:
      return Integer(negative, has_sign, text.substr(1), 8);
  }
}

YamlScalar ResolvePlain(std::string_view text) {
  if (const auto named = Named(text)) return *named;
  const char first = text[0];
  if (first == '.') {
    if (const auto number = Float(text)) return *number;
  } else if (first == '+' || first == '-' || IsDigit(first)) {
    if (IsTimestamp(text)) return {YamlTag::kTimestamp, std::string(text)};
    const std::string plain = base::ReplaceAll(text, "_", "");
    if (const auto number = Integer(plain)) return *number;
    if (const auto number = Float(plain)) return *number;
  }
  return {YamlTag::kString, std::string(text)};
}

struct TagName {
  YamlTag tag;
  std::string_view name;
};

constexpr TagName kTagNames[] = {
    {YamlTag::kNull, "null"},     {YamlTag::kBool, "bool"},           {YamlTag::kInt, "int"},
    {YamlTag::kFloat, "float"},   {YamlTag::kTimestamp, "timestamp"}, {YamlTag::kString, "str"},
    {YamlTag::kBinary, "binary"},
};

YamlTag TagOf(std::string_view tag) {
  if (!tag.starts_with(kYamlTagPrefix)) return YamlTag::kOther;
  tag.remove_prefix(kYamlTagPrefix.size());
  for (const TagName& known : kTagNames) {
    if (known.name == tag) return known.tag;
  }
  return YamlTag::kOther;
}

std::string_view NameOf(YamlTag tag) {
  for (const TagName& known : kTagNames) {
    if (known.tag == tag) return known.name;
  }
  return "";
}

}  // namespace

base::Result<YamlScalar> ResolveScalar(std::string_view tag, std::string_view text) {
  if (tag.empty()) return ResolvePlain(text);
  const YamlTag wanted = TagOf(tag);
  if (wanted == YamlTag::kString || wanted == YamlTag::kBinary || wanted == YamlTag::kOther) {
    return YamlScalar{wanted, std::string(text)};
  }
  YamlScalar scalar = ResolvePlain(text);
  if (scalar.tag == wanted) return scalar;
  if (wanted == YamlTag::kFloat && std::holds_alternative<std::int64_t>(scalar.value)) {
    return YamlScalar{wanted, static_cast<double>(std::get<std::int64_t>(scalar.value))};
  }
  return YamlError(base::StrCat("cannot decode !!", NameOf(scalar.tag), " `", text, "` as a !!",
                                NameOf(wanted)));
}

namespace {

// [+-] digit (digit|_)* (: [0-5]? digit)+ [. (digit|_)*]
bool IsBase60(std::string_view text) {
  const auto take_run = [&] {
    while (!text.empty() && (IsDigit(text[0]) || text[0] == '_')) text.remove_prefix(1);
  };
  if (!Take(text, '+')) Take(text, '-');
  if (text.empty() || !IsDigit(text[0])) return false;
  take_run();
  bool any = false;
  while (Take(text, ':')) {
    any = true;
    const std::size_t digits = DigitRun(text);
    if (digits == 0 || digits > 2 || (digits == 2 && text[0] > '5')) return false;
    text.remove_prefix(digits);
  }
  if (any && Take(text, '.')) take_run();
  return any && text.empty();
}

}  // namespace

bool NeedsQuotes(std::string_view text) {
  return ResolvePlain(text).tag != YamlTag::kString || IsBase60(text);
}

}  // namespace portcullis::json::internal
