// SPDX-License-Identifier: Apache-2.0

#include "golang/strconv.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::golang {
namespace {

constexpr std::string_view kSyntax = "invalid syntax";
constexpr std::string_view kRange = "value out of range";

base::Status Failure(std::string_view function, std::string_view text, std::string_view why) {
  return base::BadRequest(
      base::StrCat("strconv.", function, ": parsing ", base::GoQuote(text), ": ", why));
}

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

// Takes the prefix of a number in base 0; the base that it means.
int TakePrefix(std::string_view& digits) {
  if (!digits.starts_with('0')) return 10;
  const char mark = digits.size() >= 3 ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  digits.remove_prefix(base == 0 ? 1 : 2);
  return base == 0 ? 8 : base;
}

// Underscores stand between digits, or between a prefix and a digit.
bool AreUnderscoresSound(std::string_view text) {
  char before = '^';  // '0': a digit or prefix, '_', or something else
  std::size_t at = 0;
  const auto lower = [&](std::size_t i) { return static_cast<char>(text[i] | 0x20); };
  const bool has_prefix =
      text.size() >= 2 && text[0] == '0' && (lower(1) == 'b' || lower(1) == 'o' || lower(1) == 'x');
  const bool is_hex = has_prefix && lower(1) == 'x';
  if (has_prefix) {
    before = '0';
    at = 2;
  }
  for (; at < text.size(); ++at) {
    const bool is_digit =
        (text[at] >= '0' && text[at] <= '9') || (is_hex && lower(at) >= 'a' && lower(at) <= 'f');
    if (is_digit) {
      before = '0';
    } else if (text[at] == '_') {
      if (before != '0') return false;
      before = '_';
    } else {
      if (before == '_') return false;
      before = '!';
    }
  }
  return before != '_';
}

struct Magnitude {
  std::uint64_t value = 0;
  std::string_view problem;  // "" if there is none
};

// Digits without a sign, at most `limit`.
Magnitude ReadMagnitude(std::string_view text, int base, std::uint64_t limit) {
  if (text.empty()) return {0, kSyntax};
  std::string_view digits = text;
  const bool takes_underscores = base == 0;
  if (base == 0) base = TakePrefix(digits);
  Magnitude out;
  bool is_in_range = true;
  for (const char c : digits) {
    if (c == '_' && takes_underscores) continue;
    const int digit = DigitValue(c);
    if (digit >= base) return {0, kSyntax};
    is_in_range = is_in_range &&
                  !__builtin_mul_overflow(out.value, static_cast<unsigned>(base), &out.value) &&
                  !__builtin_add_overflow(out.value, static_cast<unsigned>(digit), &out.value) &&
                  out.value <= limit;
    // Go stops at the first digit that is too many, and does not look at the rest.
    if (!is_in_range) return {0, kRange};
  }
  if (takes_underscores && !AreUnderscoresSound(text)) return {0, kSyntax};
  return out;
}

std::uint64_t LimitOf(int bits) {
  return bits == 64 ? std::numeric_limits<std::uint64_t>::max() : (std::uint64_t{1} << bits) - 1;
}

base::Result<std::int64_t> ReadInt(std::string_view function, std::string_view text, int base,
                                   int bits) {
  std::string_view digits = text;
  const bool is_negative = digits.starts_with('-');
  if (is_negative || digits.starts_with('+')) digits.remove_prefix(1);
  const Magnitude magnitude = ReadMagnitude(digits, base, LimitOf(bits));
  if (!magnitude.problem.empty()) return Failure(function, text, magnitude.problem);
  const std::uint64_t limit = std::uint64_t{1} << (bits - 1);
  if (magnitude.value > limit || (magnitude.value == limit && !is_negative)) {
    return Failure(function, text, kRange);
  }
  return static_cast<std::int64_t>(is_negative ? 0 - magnitude.value : magnitude.value);
}

template <typename Float>
std::string Format(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer{};
  const auto print = [&](std::chars_format format) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
    return std::string_view(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  };
  const std::string_view text = print(std::chars_format::scientific);
  std::size_t mark = text.find('e') + 1;
  if (text[mark] == '+') ++mark;
  int exponent = 0;
  std::from_chars(text.data() + mark, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(text);
  return std::string(print(std::chars_format::fixed));
}

}  // namespace

base::Result<std::int64_t> ParseInt(std::string_view text, int base, int bits) {
  return ReadInt("ParseInt", text, base, bits);
}

base::Result<std::int64_t> Atoi(std::string_view text) { return ReadInt("Atoi", text, 10, 64); }

base::Result<std::uint64_t> ParseUint(std::string_view text, int base, int bits) {
  const Magnitude magnitude = ReadMagnitude(text, base, LimitOf(bits));
  if (!magnitude.problem.empty()) return Failure("ParseUint", text, magnitude.problem);
  return magnitude.value;
}

base::Result<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return Failure("ParseBool", text, kSyntax);
}

std::string FormatFloat(double value) { return Format(value); }
std::string FormatFloat(float value) { return Format(value); }

}  // namespace portcullis::golang
