// SPDX-License-Identifier: Apache-2.0

#include "cel/library/format_clauses.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "cel/time_text.h"

namespace portcullis::cel {
namespace {

struct Clause {
  std::string_view verbs;
  std::string_view localized;
  std::string_view plain;
};

constexpr Clause kClauses[] = {
    {"s",
     "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
     "durations, and timestamps",
     "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
     "durations, and timestamps"},
    {"d", "decimal clause can only be used on integers",
     "decimal clause can only be used on ints, uints, and doubles"},
    {"f", "fixed-point clause can only be used on doubles",
     "fixed-point clause can only be used on ints, uints, and doubles"},
    {"e", "scientific clause can only be used on doubles",
     "scientific clause can only be used on ints, uints, and doubles"},
    {"b", "only integers and bools can be formatted as binary",
     "only ints, uints, and bools can be formatted as binary"},
    {"o", "octal clause can only be used on integers",
     "octal clause can only be used on ints and uints"},
    {"xX", "only integers, byte buffers, and strings can be formatted as hex",
     "only ints, uints, bytes, and strings can be formatted as hex"},
};

std::string InBase(std::uint64_t value, int base) {
  std::array<char, 66> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base);
  return std::string(buffer.data(), result.ptr);
}

std::string SignedInBase(Value value, int base) {
  if (value.kind() == Kind::kUint) return InBase(value.uint_value(), base);
  const std::int64_t number = value.int_value();
  if (number >= 0) return InBase(static_cast<std::uint64_t>(number), base);
  return "-" + InBase(0 - static_cast<std::uint64_t>(number), base);
}

bool IsOneOf(const Type* type, std::initializer_list<TypeKind> kinds) {
  if (type->is_dyn() || type->kind == TypeKind::kError) return true;
  return std::find(kinds.begin(), kinds.end(), type->kind) != kinds.end();
}

}  // namespace

std::string_view ClauseComplaint(FormatStyle style, char verb) {
  for (const Clause& clause : kClauses) {
    if (clause.verbs.find(verb) == std::string_view::npos) continue;
    return style == FormatStyle::kPlain ? clause.plain : clause.localized;
  }
  return {};
}

std::string ClauseComplaint(FormatStyle style, char verb, Value value) {
  return base::StrCat(ClauseComplaint(style, verb), ", was given ", TypeName(value));
}

std::string_view FormatComplaint(FormatStyle style, char verb, const Type* type) {
  using K = TypeKind;
  // Texts are NaN and Infinity to the localized style, numbers of any kind are to the plain one.
  const bool plain = style == FormatStyle::kPlain;
  const bool integer = IsOneOf(type, {K::kInt, K::kUint});
  const bool number =
      IsOneOf(type, {K::kDouble}) || (plain ? integer : IsOneOf(type, {K::kString}));
  bool fits = integer;
  switch (verb) {
    case 's':
      fits = IsOneOf(type, {K::kList, K::kMap, K::kType, K::kBool, K::kBytes, K::kDouble,
                            K::kDuration, K::kInt, K::kNull, K::kString, K::kTimestamp, K::kUint});
      break;
    case 'd':
      fits = integer || (plain && number);
      break;
    case 'f':
    case 'e':
      fits = number;
      break;
    case 'b':
      fits = integer || IsOneOf(type, {K::kBool});
      break;
    case 'o':
      break;
    default:
      fits = integer || IsOneOf(type, {K::kString, K::kBytes});
      break;
  }
  return fits ? std::string_view() : ClauseComplaint(style, verb);
}

bool AppendCommon(Value value, std::string& out) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kBytes:
      out += value.text();
      return true;
    case Kind::kNull:
      out += "null";
      return true;
    case Kind::kBool:
      out += value.bool_value() ? "true" : "false";
      return true;
    case Kind::kInt:
    case Kind::kUint:
      return AppendInteger('d', value, out);
    case Kind::kType:
      out += value.type_value()->name;
      return true;
    case Kind::kDuration:
      out += FormatDuration(value.nanoseconds());
      return true;
    default:
      return false;
  }
}

std::string Digits(double value, std::chars_format format, int precision) {
  std::string out(static_cast<std::size_t>(precision) + 340, '\0');
  const auto result = std::to_chars(out.data(), out.data() + out.size(), value, format, precision);
  out.resize(static_cast<std::size_t>(result.ptr - out.data()));
  return out;
}

std::string SpecialName(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

bool AppendInteger(char verb, Value value, std::string& out) {
  const bool integer = value.kind() == Kind::kInt || value.kind() == Kind::kUint;
  const bool hex = verb == 'x' || verb == 'X';
  if (verb == 'b' && value.is_bool()) {
    out += value.bool_value() ? "1" : "0";
    return true;
  }
  if (hex && (value.is_string() || value.kind() == Kind::kBytes)) {
    const std::string digits = base::HexEncode(value.text());
    out += verb == 'X' ? base::ToUpper(digits) : digits;
    return true;
  }
  if (!integer) return false;
  const std::string digits = SignedInBase(value, verb == 'b' ? 2 : verb == 'o' ? 8 : hex ? 16 : 10);
  out += verb == 'X' ? base::ToUpper(digits) : digits;
  return true;
}

}  // namespace portcullis::cel
