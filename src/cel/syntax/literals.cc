// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/literals.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

constexpr std::array<std::string_view, 21> kReserved = {
    "as",        "break", "const",  "continue", "else", "false", "for",
    "function",  "if",    "import", "in",       "let",  "loop",  "package",
    "namespace", "null",  "return", "true",     "var",  "void",  "while"};

}  // namespace

bool ParseDigits(std::string_view text, std::uint64_t& value) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool ParseDouble(std::string_view text, double& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc::result_out_of_range) return true;
  const auto exponent = text.find_first_of("eE");
  value = 0;
  return exponent != std::string_view::npos && text[exponent + 1] == '-';
}

bool IsReservedWord(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

std::string_view OperatorOf(Token token) {
  switch (token) {
    case Token::kStar:
      return op::kMultiply;
    case Token::kSlash:
      return op::kDivide;
    case Token::kPercent:
      return op::kModulo;
    case Token::kPlus:
      return op::kAdd;
    case Token::kMinus:
      return op::kSubtract;
    case Token::kLess:
      return op::kLess;
    case Token::kLessEquals:
      return op::kLessEquals;
    case Token::kGreater:
      return op::kGreater;
    case Token::kGreaterEquals:
      return op::kGreaterEquals;
    case Token::kEquals:
      return op::kEquals;
    case Token::kNotEquals:
      return op::kNotEquals;
    default:
      return op::kIn;
  }
}

}  // namespace portcullis::cel
