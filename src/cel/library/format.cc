// SPDX-License-Identifier: Apache-2.0

#include "cel/library/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/gotext.h"
#include "base/strings.h"
#include "cel/library/format_clauses.h"
#include "cel/time_text.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::cel {
namespace {

constexpr int kMaxPrecision = 1000;
constexpr int kDefaultPrecision = 6;
constexpr int kMaxDepth = 250;
constexpr std::size_t kMaxText = std::size_t{1} << 26;

std::string Grouped(std::string text) {
  const bool negative = text.starts_with('-');
  const std::size_t first = negative ? 1 : 0;
  std::size_t point = text.find('.');
  if (point == std::string::npos) point = text.size();
  while (point > first + 3) {
    point -= 3;
    text.insert(point, ",");
  }
  return text;
}

// The strings NaN and Infinity stand for the numbers.
bool AsDouble(Value value, double& number) {
  if (value.kind() == Kind::kDouble) {
    number = value.double_value();
    return true;
  }
  if (!value.is_string()) return false;
  if (value.text() == "NaN") {
    number = std::nan("");
  } else if (value.text() == "Infinity") {
    number = HUGE_VAL;
  } else if (value.text() == "-Infinity") {
    number = -HUGE_VAL;
  } else {
    return false;
  }
  return true;
}

std::string Superscript(int exponent) {
  constexpr std::array<const char*, 10> kSuperscripts = {"⁰", "¹", "²", "³", "⁴",
                                                         "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string digits = std::to_string(std::abs(exponent));
  if (digits.size() < 2) digits.insert(0, "0");
  std::string out = exponent < 0 ? "⁻" : "";
  for (const char c : digits) out += kSuperscripts[static_cast<std::size_t>(c - '0')];
  return out;
}

// The text of a number without digits; "" for all others.
std::string_view NameOf(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "∞" : "-∞";
  return "";
}

// Go's x/text knows no negative zero.
double WithoutNegativeZero(double number) { return number == 0 ? 0 : number; }

// As the en-US number formatter of Go's x/text prints it, always with six decimals.
std::string ScientificDigits(double number) {
  std::string digits = Digits(number, std::chars_format::scientific, 6);
  const auto mark = digits.find('e');
  int exponent = 0;
  const char* first = digits.data() + mark + 1;
  if (*first == '+') ++first;
  std::from_chars(first, digits.data() + digits.size(), exponent);
  return digits.substr(0, mark) + "×10" + Superscript(exponent);
}

// The precision is a minimum width.
std::string Scientific(double number, int precision) {
  std::string out(NameOf(number));
  if (out.empty()) out = ScientificDigits(WithoutNegativeZero(number));
  const std::size_t width = CodePoints(out);
  const auto least = static_cast<std::size_t>(precision < 0 ? kDefaultPrecision : precision);
  if (width < least) out.insert(0, least - width, ' ');
  return out;
}

std::string Fixed(double number, int precision) {
  if (const auto name = NameOf(number); !name.empty()) return std::string(name);
  return Grouped(Digits(WithoutNegativeZero(number), std::chars_format::fixed,
                        precision < 0 ? kDefaultPrecision : precision));
}

class Formatter {
 public:
  Formatter(json::Arena& arena, std::string& complaint) : arena_(arena), complaint_(complaint) {}

  // A value inside a list or map, as a literal. False if it has none, with a complaint.
  bool Literal(Value value, std::string& out, int depth) {
    if (depth > kMaxDepth || out.size() > kMaxText) return false;
    switch (value.kind()) {
      case Kind::kString:
        out += base::GoQuote(value.text());
        return true;
      case Kind::kBytes:
        if (!base::IsValidUtf8(value.text())) return String(value, out, depth);
        out += "b" + base::GoQuote(value.text());
        return true;
      case Kind::kDouble:
        out += std::isfinite(value.double_value())
                   ? Digits(value.double_value(), std::chars_format::fixed, 6)
                   : "\"" + Special(value.double_value()) + "\"";
        return true;
      case Kind::kTimestamp:
        out += "timestamp(\"" + golang::FormatTimeNano(MomentOf(value), value.offset_minutes()) +
               "\")";
        return true;
      case Kind::kDuration:
        out += "duration(\"" + FormatDuration(value.nanoseconds()) + "\")";
        return true;
      case Kind::kList:
      case Kind::kMap:
        return String(value, out, depth);
      default:
        if (AppendCommon(value, out)) return true;
        complaint_ = base::StrCat("no formatting function for ", TypeName(value));
        return false;
    }
  }

  bool String(Value value, std::string& out, int depth) {
    if (value.kind() == Kind::kBytes && !base::IsValidUtf8(value.text())) {
      complaint_ =
          "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to "
          "string";
      return false;
    }
    if (AppendCommon(value, out)) return true;
    switch (value.kind()) {
      case Kind::kDouble:
        out += std::isfinite(value.double_value()) ? golang::FormatFloat(value.double_value())
                                                   : Special(value.double_value());
        return true;
      case Kind::kTimestamp:
        out += golang::FormatTimeNano(MomentOf(value), value.offset_minutes());
        return true;
      case Kind::kList:
        return List(value, out, depth);
      case Kind::kMap:
        return Map(value, out, depth);
      default:
        return false;
    }
  }

 private:
  static std::string Special(double value) {
    if (std::isnan(value)) return "NaN";
    return value > 0 ? "+Inf" : "-Inf";
  }

  bool List(Value value, std::string& out, int depth) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      if (!Literal(value.At(arena_, i), out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  // Keys are those that the language has: no other ones have a text.
  bool Map(Value value, std::string& out, int depth) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::pair<std::string, std::string> entry;
      const Value key = value.KeyAt(arena_, i);
      if (!key.is_string() && !key.is_bool() && (!key.is_number() || key.kind() == Kind::kDouble)) {
        complaint_ = base::StrCat("no formatting function for map key of type ", TypeName(key));
        return false;
      }
      if (!Literal(key, entry.first, depth + 1) ||
          !Literal(value.ValueAt(arena_, i), entry.second, depth + 1)) {
        return false;
      }
      entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end());
    out += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out += ", ";
      out += entries[i].first + ":" + entries[i].second;
    }
    out += '}';
    return true;
  }

  json::Arena& arena_;
  std::string& complaint_;
};

bool AppendClause(json::Arena& arena, const FormatClause& clause, Value value, std::string& out,
                  std::string& complaint) {
  double number = 0;
  switch (clause.verb) {
    case 's':
      return Formatter(arena, complaint).String(value, out, 0);
    case 'f':
      if (!AsDouble(value, number)) return false;
      out += Fixed(number, clause.precision);
      return true;
    case 'e':
      if (!AsDouble(value, number)) return false;
      out += Scientific(number, clause.precision);
      return true;
    default:
      return AppendInteger(clause.verb, value, out);
  }
}

void AppendLiteral(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '%') ++i;  // the second of %%
  }
}

std::string IndexOutOfRange(std::size_t index) {
  return "index " + std::to_string(index) + " out of range";
}

// Digits between the point and the verb; what is wrong, or "".
std::string ReadPrecision(std::string_view format, std::size_t& at, int& precision) {
  const std::size_t begin = at;
  while (at < format.size() && format[at] >= '0' && format[at] <= '9') ++at;
  if (at >= format.size()) return "could not find end of precision specifier";
  const std::string_view digits = format.substr(begin, at - begin);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), precision);
  if (!digits.empty() && read.ec == std::errc() && precision <= kMaxPrecision) return {};
  return base::StrCat("error while converting precision to integer: strconv.Atoi: parsing ",
                      base::GoQuote(digits), ": ",
                      digits.empty() ? "invalid syntax" : "value out of range");
}

// The clause behind its percent sign; what is wrong, or "".
std::string ReadClause(std::string_view format, std::size_t& at, FormatClause& clause) {
  constexpr std::string_view kVerbs = "sdfebxXo";
  if (format[at] == '.') {
    const std::string wrong = ReadPrecision(format, ++at, clause.precision);
    if (!wrong.empty()) return "error while parsing precision: " + wrong;
  }
  clause.verb = format[at++];
  if (kVerbs.find(clause.verb) != std::string_view::npos) return {};
  // A single byte is taken for a character.
  std::string shown;
  base::AppendRune(static_cast<unsigned char>(clause.verb), shown);
  return base::StrCat("unrecognized formatting clause \"", shown, "\"");
}

}  // namespace

FormatTemplate ParseFormat(std::string_view format) {
  FormatTemplate result;
  std::size_t text = 0;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      ++at;
      continue;
    }
    if (at + 1 >= format.size()) {
      result.error = "unexpected end of string";
      result.ends_in_percent = true;
      return result;
    }
    if (format[at + 1] == '%') {
      at += 2;
      continue;
    }
    FormatClause clause;
    clause.offset = at;
    clause.text_before = format.substr(text, at - text);
    ++at;
    result.error = ReadClause(format, at, clause);
    if (!result.error.empty()) {
      result.error.insert(0, "could not parse formatting clause: ");
      return result;
    }
    text = at;
    result.clauses.push_back(clause);
  }
  result.text_after = format.substr(text);
  return result;
}

Value FormatWith(EvalContext& context, std::span<const Value> args, FormatStyle style,
                 ClauseAppender append) {
  const FormatTemplate format = ParseFormat(args[0].text());
  const Value values = args[1];
  std::string out;
  for (std::size_t i = 0; i < format.clauses.size(); ++i) {
    const FormatClause& clause = format.clauses[i];
    AppendLiteral(clause.text_before, out);
    if (i >= values.size()) return context.Error(IndexOutOfRange(i));
    const Value value = values.At(context.arena(), i);
    std::string complaint;
    if (append(context.arena(), clause, value, out, complaint)) continue;
    if (complaint.empty()) complaint = ClauseComplaint(style, clause.verb, value);
    return context.Error("error during formatting: " + complaint);
  }
  if (!format.error.empty()) {
    const std::size_t next = format.clauses.size();
    return context.Error(next >= values.size() ? IndexOutOfRange(next) : format.error);
  }
  AppendLiteral(format.text_after, out);
  return MakeString(context.arena(), out);
}

Value FormatCall(EvalContext& context, std::span<const Value> args) {
  return FormatWith(context, args, FormatStyle::kLocalized, &AppendClause);
}

}  // namespace portcullis::cel
