// SPDX-License-Identifier: Apache-2.0

// Conversions between types, and the functions on strings and collections that the language has.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/gotext.h"
#include "base/search.h"
#include "cel/eval/arithmetic.h"
#include "cel/library/regex.h"
#include "cel/library/standard_functions.h"
#include "cel/time_text.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::cel::standard {
namespace {

constexpr ErrorNode kIntOverflow{"integer overflow"};
constexpr ErrorNode kUintOverflow{"unsigned integer overflow"};
constexpr ErrorNode kBadUtf8{"invalid UTF-8 in bytes, cannot convert to string"};
constexpr double kTwo63 = 9223372036854775808.0;

Value Fail(EvalContext& context, Value value, std::string_view target) {
  return context.Error("type conversion error from '" + std::string(TypeName(value)) + "' to '" +
                       std::string(target) + "'");
}

// Decimal digits with an optional sign, as strconv.ParseInt and ParseUint take them.
template <typename T>
bool ParseNumber(std::string_view text, T& value) {
  if (text.starts_with('+') && std::is_signed_v<T>) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() && !text.empty();
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

// Are underscores only between digits, as Go's literals allow with a base prefix? Decimal numbers
// given to ParseFloat must have none.
bool ParseFloat(std::string_view text, double& value) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return false;
  if (EqualsIgnoringCase(rest, "inf") || EqualsIgnoringCase(rest, "infinity")) {
    value = negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  if (EqualsIgnoringCase(rest, "nan")) {
    value = std::nan("");
    return rest.size() == text.size();
  }
  auto format = std::chars_format::general;
  if (rest.size() > 2 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
    if (rest.find_first_of("pP") == std::string_view::npos) return false;
    rest.remove_prefix(2);
    format = std::chars_format::hex;
  }
  const char first = rest[0];
  const bool digit = (first >= '0' && first <= '9') || first == '.' ||
                     (format == std::chars_format::hex && std::isxdigit(first) != 0);
  if (!digit) return false;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value, format);
  if (result.ptr != rest.data() + rest.size()) return false;
  if (result.ec == std::errc::result_out_of_range) {
    // Too large is an error; too small is zero.
    value = std::strtod(std::string(text).c_str(), nullptr);
    return std::isfinite(value);
  }
  if (result.ec != std::errc()) return false;
  if (negative) value = -value;
  return true;
}

}  // namespace

Value Identity(EvalContext&, std::span<const Value> args) { return args[0]; }
Value ToType(EvalContext&, std::span<const Value> args) { return Value::OfType(TypeOf(args[0])); }

Value ToBool(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return Value::Bool(true);
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return Value::Bool(false);
  }
  return Fail(context, args[0], "bool");
}

Value ToBytes(EvalContext&, std::span<const Value> args) { return Value::Bytes(args[0].text()); }

Value ToDouble(EvalContext& context, std::span<const Value> args) {
  const Value value = args[0];
  if (value.kind() == Kind::kInt) return Value::Double(static_cast<double>(value.int_value()));
  if (value.kind() == Kind::kUint) return Value::Double(static_cast<double>(value.uint_value()));
  double number = 0;
  if (ParseFloat(value.text(), number)) return Value::Double(number);
  return Fail(context, value, "double");
}

Value ToDuration(EvalContext& context, std::span<const Value> args) {
  if (args[0].is_string()) {
    if (const auto duration = golang::ParseDuration(args[0].text()); duration.ok()) {
      return Value::Duration(*duration);
    }
  }
  return Fail(context, args[0], "google.protobuf.Duration");
}

Value ToInt(EvalContext& context, std::span<const Value> args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kUint:
      if (value.uint_value() > static_cast<std::uint64_t>(INT64_MAX)) break;
      return Value::Int(static_cast<std::int64_t>(value.uint_value()));
    case Kind::kDouble:
      // The bounds themselves are excluded, as cel-go has it.
      if (!(value.double_value() > -kTwo63 && value.double_value() < kTwo63)) break;
      return Value::Int(static_cast<std::int64_t>(value.double_value()));
    case Kind::kTimestamp:
      return Value::Int(value.seconds());
    case Kind::kDuration:
      return Value::Int(value.nanoseconds());
    default: {
      std::int64_t number = 0;
      if (ParseNumber(value.text(), number)) return Value::Int(number);
      return Fail(context, value, "int");
    }
  }
  return Value::Error(&kIntOverflow);
}

Value ToUint(EvalContext& context, std::span<const Value> args) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kInt:
      if (value.int_value() < 0) break;
      return Value::Uint(static_cast<std::uint64_t>(value.int_value()));
    case Kind::kDouble:
      if (!(value.double_value() >= 0 && value.double_value() < 2 * kTwo63)) break;
      return Value::Uint(static_cast<std::uint64_t>(value.double_value()));
    default: {
      std::uint64_t number = 0;
      if (ParseNumber(value.text(), number)) return Value::Uint(number);
      return Fail(context, value, "uint");
    }
  }
  return Value::Error(&kUintOverflow);
}

Value ToText(EvalContext& context, std::span<const Value> args) {
  json::Arena& arena = context.arena();
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::kBool:
      return Value::String(value.bool_value() ? "true" : "false");
    case Kind::kInt:
      return MakeString(arena, std::to_string(value.int_value()));
    case Kind::kUint:
      return MakeString(arena, std::to_string(value.uint_value()));
    case Kind::kDouble:
      return MakeString(arena, golang::FormatFloat(value.double_value()));
    case Kind::kBytes:
      if (!base::IsValidUtf8(value.text())) return Value::Error(&kBadUtf8);
      return Value::String(value.text());
    case Kind::kTimestamp:
      return MakeString(arena, golang::FormatTimeNano(MomentOf(value), value.offset_minutes()));
    case Kind::kDuration:
      return MakeString(arena, FormatDuration(value.nanoseconds()));
    default:
      return Fail(context, value, "string");
  }
}

Value ToTimestamp(EvalContext& context, std::span<const Value> args) {
  if (args[0].kind() == Kind::kInt) return CheckedTimestamp(args[0].int_value(), 0);
  int offset_seconds = 0;
  if (const auto moment = golang::ParseTime(args[0].text(), &offset_seconds); moment.ok()) {
    return CheckedTimestamp(moment->seconds, static_cast<std::uint32_t>(moment->nanos),
                            offset_seconds / 60);
  }
  return Fail(context, args[0], "google.protobuf.Timestamp");
}

Value Size(EvalContext&, std::span<const Value> args) {
  return Value::Int(static_cast<std::int64_t>(CostSize(args[0])));
}

Value In(EvalContext& context, std::span<const Value> args) {
  return Contains(context.arena(), args[0], args[1]);
}

Value ContainsText(EvalContext&, std::span<const Value> args) {
  return Value::Bool(base::FindText(args[0].text(), args[1].text()) != std::string_view::npos);
}
Value StartsWith(EvalContext&, std::span<const Value> args) {
  return Value::Bool(args[0].text().starts_with(args[1].text()));
}
Value EndsWith(EvalContext&, std::span<const Value> args) {
  return Value::Bool(args[0].text().ends_with(args[1].text()));
}

Value Matches(EvalContext& context, std::span<const Value> args) {
  if (context.prepared()) {
    const auto* regex = static_cast<const Regex*>(context.prepared());
    return Value::Bool(regex->Matches(args[0].text()));
  }
  const auto regex = Regex::Compile(args[1].text());
  if (!regex.ok()) return context.Error(regex.status().message());
  return Value::Bool((*regex)->Matches(args[0].text()));
}

}  // namespace portcullis::cel::standard
