// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/shard_selector.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/gotext.h"
#include "base/strings.h"
#include "cel/syntax/operators.h"
#include "cel/syntax/parser.h"

namespace portcullis::kube_cel {
namespace {

using cel::Expr;
using cel::ExprKind;
using Range = ShardSelector::Range;

constexpr std::string_view kPrefix = "0x";
constexpr std::string_view kEndOfAll = "0x10000000000000000";  // 2^64

base::Status Wrong(std::string text) {
  return base::Status(base::Reason::kUnknown, std::move(text));
}

// The number that cel-go has for the kind.
std::string KindNumber(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kCall:
      return "1";
    case ExprKind::kComprehension:
      return "2";
    case ExprKind::kIdent:
      return "3";
    case ExprKind::kList:
      return "4";
    case ExprKind::kConst:
      return "5";
    case ExprKind::kMap:
      return "6";
    case ExprKind::kSelect:
      return "7";
    case ExprKind::kStruct:
      return "8";
  }
  return "0";
}

// The shorter number is the smaller one.
bool IsLess(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

base::Result<std::string> FieldOf(const Expr& expr) {
  if (expr.kind == ExprKind::kIdent) return std::string(expr.name);
  if (expr.kind == ExprKind::kSelect) {
    return base::StrCat(TRY(FieldOf(*expr.operand)), ".", expr.name);
  }
  return Wrong(
      base::StrCat("shardRange() first argument: expected field path (e.g. object.metadata.uid), "
                   "got expression kind ",
                   KindNumber(expr)));
}

std::string_view GoTypeOf(const cel::Value& value) {
  switch (value.kind()) {
    case cel::Kind::kBool:
      return "bool";
    case cel::Kind::kInt:
      return "int64";
    case cel::Kind::kUint:
      return "uint64";
    case cel::Kind::kDouble:
      return "float64";
    case cel::Kind::kBytes:
      return "[]uint8";
    default:
      return "structpb.NullValue";
  }
}

base::Result<std::string> BoundOf(const Expr& expr, std::string_view name) {
  const auto wrong = [&](const auto&... parts) { return Wrong(base::StrCat(name, parts...)); };
  if (expr.kind != ExprKind::kConst) {
    return wrong(" must be a string literal (e.g. '0xff'), got expression kind ", KindNumber(expr));
  }
  if (expr.constant.kind() != cel::Kind::kString) {
    return wrong(" must be a string literal, got ", GoTypeOf(expr.constant));
  }
  const std::string text(expr.constant.text());
  const std::string quoted = base::GoQuote(text);
  if (!text.starts_with(kPrefix)) return wrong(" must have '0x' prefix, got ", quoted);
  const std::string_view digits = std::string_view(text).substr(kPrefix.size());
  if (digits.empty()) return wrong(": hex value is required after '0x'");
  if (digits.size() > 17) {
    return wrong(": hex value too long (", std::to_string(digits.size()),
                 " chars, max 17): ", base::GoQuote(digits));
  }
  const std::size_t bad = digits.find_first_not_of("0123456789abcdef");
  if (bad != std::string_view::npos) {
    std::size_t end = bad + 1;  // of the character, in UTF-8
    while (end < digits.size() && (static_cast<unsigned char>(digits[end]) & 0xc0U) == 0x80) ++end;
    return wrong(": invalid hex character ", base::GoQuote(digits.substr(bad, end - bad)), " in ",
                 quoted);
  }
  if (digits.size() == 17 && text != kEndOfAll) {
    return wrong(": 17-digit hex value must be '0x10000000000000000' (2^64), got ", quoted);
  }
  if (digits.size() < 16) {
    const std::string padded = base::StrCat(kPrefix, std::string(16 - digits.size(), '0'), digits);
    return wrong(" must be a 0x-prefixed 16-digit hex value, got ", quoted, " (did you mean ",
                 base::GoQuote(padded), "?)");
  }
  return text;
}

base::Result<Range> RangeOf(std::span<Expr* const> arguments) {
  if (arguments.size() != 3) {
    return Wrong(base::StrCat("shardRange() requires exactly 3 arguments, got ",
                              std::to_string(arguments.size())));
  }
  Range range;
  range.field = TRY(FieldOf(*arguments[0]));
  if (range.field != "object.metadata.uid" && range.field != "object.metadata.namespace") {
    return Wrong(base::StrCat("unsupported field path ", base::GoQuote(range.field),
                              "; supported: object.metadata.uid, object.metadata.namespace"));
  }
  range.start = TRY(BoundOf(*arguments[1], "hexStart"));
  range.end = TRY(BoundOf(*arguments[2], "hexEnd"));
  if (IsLess(range.start, range.end)) return range;
  return Wrong(
      base::StrCat("shard range start ", range.start, " must be less than end ", range.end));
}

// The expression is never evaluated, only read.
base::Status Collect(const Expr& expr, std::vector<Range>& ranges) {
  if (expr.kind != ExprKind::kCall) {
    return Wrong(base::StrCat("unexpected expression kind ", KindNumber(expr),
                              "; expected shardRange() call or || operator"));
  }
  if (expr.name == cel::op::kOr) {
    for (const Expr* side : expr.args) TRY(Collect(*side, ranges));
    return base::OkStatus();
  }
  if (expr.name != "shardRange") {
    return Wrong(base::StrCat("unsupported function ", base::GoQuote(expr.name),
                              "; only shardRange() and || are allowed"));
  }
  // A receiver is not looked at.
  ranges.push_back(TRY(RangeOf(expr.args.subspan(expr.member_call ? 1 : 0))));
  return base::OkStatus();
}

// FNV-1a of 64 bits, as bounds are written.
std::string HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string out(kPrefix);
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[hash >> shift & 0xfU];
  return out;
}

}  // namespace

base::Result<ShardSelector> ShardSelector::Parse(std::string_view text) {
  text = base::Trim(text);
  if (text.empty()) {
    return Wrong("empty shard selector is not allowed; omit the parameter for unfiltered lists");
  }
  cel::Issues issues;
  const auto parsed = cel::Parse(text, {.optional_syntax = false}, issues);
  if (parsed == nullptr || parsed->root() == nullptr) {
    return Wrong(base::StrCat("CEL parse error: ",
                              issues.empty() ? std::string() : issues.list().front().message));
  }
  ShardSelector selector;
  TRY(Collect(*parsed->root(), selector.ranges_));
  const std::string& first = selector.ranges_.front().field;
  for (const Range& range : selector.ranges_) {
    if (range.field == first) continue;
    return Wrong(base::StrCat("all shard ranges must use the same field, got ",
                              base::GoQuote(first), " and ", base::GoQuote(range.field)));
  }
  return selector;
}

bool ShardSelector::Matches(json::Value object) const {
  const std::string_view field = ranges_.front().field;
  const std::string hash =
      HashOf(object["metadata"][field.substr(field.rfind('.') + 1)].AsString());
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return !IsLess(hash, range.start) && IsLess(hash, range.end);
  });
}

std::string ShardSelector::ToString() const {
  std::string text;
  for (const Range& range : ranges_) {
    text += base::StrCat(text.empty() ? "" : " || ", "shardRange(", range.field, ", '", range.start,
                         "', '", range.end, "')");
  }
  return text;
}

}  // namespace portcullis::kube_cel
