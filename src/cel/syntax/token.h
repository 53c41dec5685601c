// SPDX-License-Identifier: Apache-2.0

// Tokens of CEL. The enumerators stand in the order in which expectation sets are printed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/issues.h"

namespace portcullis::cel {

enum class Token : std::uint8_t {
  kEnd,
  kEquals,
  kNotEquals,
  kIn,
  kLess,
  kLessEquals,
  kGreaterEquals,
  kGreater,
  kAnd,
  kOr,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kDot,
  kComma,
  kMinus,
  kExclamation,
  kQuestion,
  kColon,
  kPlus,
  kStar,
  kSlash,
  kPercent,
  kTrue,
  kFalse,
  kNull,
  kFloat,
  kInt,
  kUint,
  kString,
  kBytes,
  kIdentifier,
  kEscapedIdentifier,
};

struct TokenAt {
  Token token = Token::kEnd;
  std::int32_t offset = 0;
  std::int32_t size = 0;
};

// Splits the source. Characters that begin no token are reported and skipped. The last token is
// kEnd. Never fails; works on any bytes.
std::vector<TokenAt> Tokenize(std::string_view source, Issues& issues);

// As an expectation set prints it: `'['`, `NUM_INT`, `<EOF>`.
std::string_view TokenText(Token token);

// Turns the text of a string or bytes token, with prefix and quotes, into its value. False, with
// `error` set, for escapes that are not allowed.
bool Unquote(std::string_view token, bool bytes, std::string& out, std::string& error);

}  // namespace portcullis::cel
