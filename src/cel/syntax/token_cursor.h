// SPDX-License-Identifier: Apache-2.0

// Walks over the tokens of an expression, and reports and recovers from what does not fit as the
// parsers that ANTLR generates do: one superfluous token is skipped, one missing token is made up,
// otherwise tokens are skipped up to one with which some construct under way can go on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cel/issues.h"
#include "cel/syntax/token.h"

namespace portcullis::cel {

// A set of tokens.
using Mask = std::uint64_t;
constexpr Mask Bit(Token token) { return Mask{1} << static_cast<unsigned>(token); }
template <typename... Tokens>
constexpr Mask Bits(Tokens... tokens) {
  return (Bit(tokens) | ...);
}

constexpr Mask kExprStart =
    Bits(Token::kLeftBracket, Token::kLeftBrace, Token::kLeftParen, Token::kDot, Token::kMinus,
         Token::kExclamation, Token::kTrue, Token::kFalse, Token::kNull, Token::kFloat, Token::kInt,
         Token::kUint, Token::kString, Token::kBytes, Token::kIdentifier);
constexpr Mask kMultiplicative = Bits(Token::kStar, Token::kSlash, Token::kPercent);
constexpr Mask kAdditive = Bits(Token::kPlus, Token::kMinus);
constexpr Mask kRelation = Bits(Token::kLess, Token::kLessEquals, Token::kGreaterEquals,
                                Token::kGreater, Token::kEquals, Token::kNotEquals, Token::kIn);
constexpr Mask kBinary = kMultiplicative | kAdditive | kRelation | Bits(Token::kAnd, Token::kOr);
constexpr Mask kPostfix = Bits(Token::kDot, Token::kLeftBracket);

// Where in the grammar something does not fit.
enum class Place : std::uint8_t {
  kOperand,
  kPrimary,
  kField,      // behind a dot
  kFieldName,  // behind `.?`, or of a message
  kIndex,
  kIndexEnd,
  kArguments,
  kArgumentsEnd,
  kMethodArguments,
  kMethodArgumentsEnd,
  kNestedEnd,
  kList,
  kListEnd,
  kMap,
  kMapEnd,
  kMessage,
  kMessageEnd,
  kOtherwise,  // the colon of a condition
  kValue,      // the colon of an entry of a map
  kFieldValue,
  kEnd,
};

// Confined to one parse.
class TokenCursor {
 public:
  TokenCursor(std::string_view source, Issues& issues);

  // Adds tokens that may follow the construct being parsed, as long as it lives.
  class Following {
   public:
    Following(TokenCursor& cursor, Mask mask) : cursor_(cursor) { cursor_.follow_.push_back(mask); }
    ~Following() { cursor_.follow_.pop_back(); }
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

   private:
    TokenCursor& cursor_;
  };

  Token La(std::size_t ahead = 0) const;
  bool Is(Mask mask) const { return (Bit(La()) & mask) != 0; }
  const TokenAt& Next() const { return tokens_[next_]; }
  std::int32_t Offset() const { return Next().offset; }
  std::string_view Text(const TokenAt& token) const;
  std::string_view Text() const { return Text(Next()); }
  const TokenAt& Consume();

  // At the beginning of a choice: is the next token one of `expected`? A single superfluous token
  // is reported and skipped; otherwise the mismatch is reported and false returned.
  bool Sync(Mask expected, Place place);
  // The same between repetitions, which end at what cannot be skipped.
  void SyncRepetition(Mask expected);
  // Takes the token; `after` are the tokens that may come behind it here.
  bool Match(Token token, Mask after, Place place);
  // What may come behind an operand here.
  Mask AfterPrimary() const;

  // What is wrong with something that fits the grammar. Not reported if reading stops early.
  void Report(std::int32_t offset, std::string message);
  // At the next token; nothing while recovering from another.
  void SyntaxError(std::string message);
  void SyntaxError(std::int32_t offset, std::string message);
  void Mismatched(Mask expected, Place place);
  // Looking ahead, the token `ahead` of the next one fits nothing.
  void NoViable(std::size_t ahead, Place place);
  void Recover(Place place);
  // Stops reading: nothing behind the next token is reported any more.
  void Halt();
  // The same, with the reason.
  void HaltWith(std::string message);
  bool halted() const { return halted_; }
  // Puts together what is reported in the end.
  void Finish(bool with_reports);

  static std::string Escape(std::string_view text);
  bool recovering() const { return recovering_; }  // reported, and no token accepted since
  Issues& issues() { return issues_; }
  Issues& reports() { return reports_; }  // see Report()

 private:
  void Extraneous(Mask expected);
  bool CountRecovery();
  Mask RecoverySet() const;

  std::string_view source_;
  Positions positions_{source_};
  Issues& issues_;
  std::vector<TokenAt> tokens_;
  std::size_t next_ = 0;
  std::vector<Mask> follow_;
  Issues reports_;
  bool recovering_ = false;
  bool halted_ = false;
  int recoveries_ = 0;
  std::size_t last_recovery_ = static_cast<std::size_t>(-1);
  std::uint32_t recovery_places_ = 0;  // bits of the places where there were any
};

}  // namespace portcullis::cel
