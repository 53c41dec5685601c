// SPDX-License-Identifier: Apache-2.0

// `format` as the specification of the language has it since version 4 of the strings library.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cel/library/format_clauses.h"
#include "cel/time_text.h"
#include "golang/time.h"

namespace portcullis::cel {
namespace {

constexpr int kMaxDepth = 250;
constexpr int kDefaultPrecision = 6;
constexpr std::size_t kMaxText = std::size_t{1} << 26;

// The shortest digits that mean the number, never with an exponent.
std::string Shortest(double value) {
  if (!std::isfinite(value)) return SpecialName(value);
  std::array<char, 400> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return std::string(buffer.data(), result.ptr);
}

class PlainFormatter {
 public:
  PlainFormatter(json::Arena& arena, std::string& complaint)
      : arena_(arena), complaint_(complaint) {}

  bool String(Value value, std::string& out, int depth) {
    if (depth > kMaxDepth || out.size() > kMaxText) return Fail(value);
    if (AppendCommon(value, out)) return true;
    switch (value.kind()) {
      case Kind::kDouble:
        out += Shortest(value.double_value());
        return true;
      case Kind::kTimestamp:
        out += golang::FormatTimeNano(MomentOf(value));
        return true;
      case Kind::kList:
        return List(value, out, depth);
      case Kind::kMap:
        return Map(value, out, depth);
      default:
        return Fail(value);
    }
  }

 private:
  bool Fail(Value value) {
    complaint_ = ClauseComplaint(FormatStyle::kPlain, 's', value);
    return false;
  }

  bool List(Value value, std::string& out, int depth) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      if (!String(value.At(arena_, i), out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool Map(Value value, std::string& out, int depth) {
    std::vector<std::pair<std::string, std::string>> entries(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!String(value.KeyAt(arena_, i), entries[i].first, depth + 1) ||
          !String(value.ValueAt(arena_, i), entries[i].second, depth + 1)) {
        return false;
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out += ", ";
      out += entries[i].first + ": " + entries[i].second;
    }
    out += '}';
    return true;
  }

  json::Arena& arena_;
  std::string& complaint_;
};

bool AsDouble(Value value, double& number) {
  switch (value.kind()) {
    case Kind::kDouble:
      number = value.double_value();
      return true;
    case Kind::kInt:
      number = static_cast<double>(value.int_value());
      return true;
    case Kind::kUint:
      number = static_cast<double>(value.uint_value());
      return true;
    default:
      return false;
  }
}

bool AppendClause(json::Arena& arena, const FormatClause& clause, Value value, std::string& out,
                  std::string& complaint) {
  double number = 0;
  switch (clause.verb) {
    case 's':
      return PlainFormatter(arena, complaint).String(value, out, 0);
    case 'd':
      if (value.kind() != Kind::kDouble) return AppendInteger(clause.verb, value, out);
      out += Shortest(value.double_value());
      return true;
    case 'f':
    case 'e': {
      if (!AsDouble(value, number)) return false;
      const int precision = clause.precision < 0 ? kDefaultPrecision : clause.precision;
      const auto form =
          clause.verb == 'f' ? std::chars_format::fixed : std::chars_format::scientific;
      out += std::isfinite(number) ? Digits(number, form, precision) : SpecialName(number);
      return true;
    }
    default:
      return AppendInteger(clause.verb, value, out);
  }
}

}  // namespace

Value PlainFormatCall(EvalContext& context, std::span<const Value> args) {
  return FormatWith(context, args, FormatStyle::kPlain, &AppendClause);
}

}  // namespace portcullis::cel
