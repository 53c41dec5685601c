// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/token_cursor.h"

#include <algorithm>

#include "cel/syntax/ast.h"

namespace portcullis::cel {
namespace {

constexpr int kMaxRecoveries = 30;
constexpr int kMaxSkipped = 256;  // tokens, in one recovery
constexpr std::size_t kMaxErrors = 100;

std::string Expectation(Mask mask) {
  std::string out;
  int count = 0;
  for (unsigned i = 0; i <= static_cast<unsigned>(Token::kEscapedIdentifier); ++i) {
    if ((mask & (Mask{1} << i)) == 0) continue;
    if (count++ > 0) out += ", ";
    out += TokenText(static_cast<Token>(i));
  }
  return count == 1 ? out : "{" + out + "}";
}

// Spaces and comments between two tokens, without what could not be read as a token: half of an
// operator takes the character behind it along.
std::string Hidden(std::string_view gap) {
  if (gap.find("//") != std::string_view::npos) return std::string(gap);
  std::string out;
  for (std::size_t i = 0; i < gap.size(); ++i) {
    if (std::string_view(" \t\r\n\f").find(gap[i]) != std::string_view::npos) {
      out += gap[i];
    } else if (std::string_view("=&|").find(gap[i]) != std::string_view::npos) {
      ++i;
    } else if (gap[i] == '\'' || gap[i] == '"') {
      break;  // a text without end
    }
  }
  return out;
}

}  // namespace

TokenCursor::TokenCursor(std::string_view source, Issues& issues)
    : source_(source), issues_(issues), tokens_(Tokenize(source, issues)) {
  follow_.push_back(Bit(Token::kEnd));
}

Token TokenCursor::La(std::size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)].token;
}

std::string_view TokenCursor::Text(const TokenAt& token) const {
  if (token.token == Token::kEnd) return "<EOF>";
  return source_.substr(static_cast<std::size_t>(token.offset),
                        static_cast<std::size_t>(token.size));
}

const TokenAt& TokenCursor::Consume() {
  const TokenAt& token = tokens_[next_];
  if (token.token != Token::kEnd) ++next_;
  recovering_ = false;
  return token;
}

std::string TokenCursor::Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out;
}

void TokenCursor::Report(std::int32_t offset, std::string message) {
  if (!halted_) reports_.Add(positions_.Of(offset), std::move(message));
}

void TokenCursor::SyntaxError(std::string message) { SyntaxError(Offset(), std::move(message)); }

void TokenCursor::SyntaxError(std::int32_t offset, std::string message) {
  if (recovering_ || halted_) return;
  recovering_ = true;
  issues_.Add(positions_.Of(offset), "Syntax error: " + std::move(message));
}

void TokenCursor::Mismatched(Mask expected, Place place) {
  SyntaxError("mismatched input '" + Escape(Text()) + "' expecting " + Expectation(expected));
  Recover(place);
}

void TokenCursor::NoViable(std::size_t ahead, Place place) {
  const std::size_t wrong = std::min(next_ + ahead, tokens_.size() - 1);
  // The text up to there, with spaces between the tokens but without what is no token.
  std::string text;
  for (std::size_t i = next_; i <= wrong && tokens_[i].token != Token::kEnd; ++i) {
    text += Text(tokens_[i]);
    if (i == wrong) break;
    const auto end = static_cast<std::size_t>(tokens_[i].offset + tokens_[i].size);
    const auto begin = static_cast<std::size_t>(tokens_[i + 1].offset);
    text += Hidden(source_.substr(end, std::max(begin, end) - end));
  }
  const bool keyword = text == ".true" || text == ".false" || text == ".null";
  SyntaxError(tokens_[wrong].offset,
              keyword ? "mismatched input '" + text.substr(1) + "' expecting IDENTIFIER"
                      : "no viable alternative at input '" + Escape(text) + "'");
  Recover(place);
}

void TokenCursor::Extraneous(Mask expected) {
  const bool reported = recovering_;
  SyntaxError("extraneous input '" + Escape(Text()) + "' expecting " + Expectation(expected));
  if (La() != Token::kEnd) ++next_;
  recovering_ = reported;
}

bool TokenCursor::CountRecovery() {
  if (halted_) return false;
  if (++recoveries_ <= kMaxRecoveries) return true;
  recovering_ = false;
  SyntaxError("error recovery attempt limit exceeded: " + std::to_string(kMaxRecoveries));
  Halt();
  return false;
}

Mask TokenCursor::RecoverySet() const {
  Mask mask = Bit(Token::kEnd) | kBinary | Bit(Token::kQuestion);
  for (const Mask follow : follow_) mask |= follow;
  return mask;
}

void TokenCursor::Recover(Place place) {
  if (!CountRecovery()) return;
  const Mask mask = RecoverySet();
  // Standing still twice would never end.
  const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(place);
  if (last_recovery_ == next_ && (recovery_places_ & bit) != 0 && La() != Token::kEnd) ++next_;
  last_recovery_ = next_;
  recovery_places_ |= bit;
  for (int skipped = 0; !Is(mask); ++next_) {
    if (skipped++ < kMaxSkipped) continue;
    HaltWith("error recovery token lookahead limit exceeded: " + std::to_string(kMaxSkipped));
    return;
  }
}

void TokenCursor::SyncRepetition(Mask expected) {
  if (recovering_ || Is(expected)) return;
  SyntaxError("extraneous input '" + Escape(Text()) + "' expecting " + Expectation(expected));
  const Mask mask = expected | RecoverySet();
  while (!Is(mask)) ++next_;
}

bool TokenCursor::Sync(Mask expected, Place place) {
  if (Is(expected)) return true;
  if (!recovering_ && (Bit(La(1)) & expected) != 0 && La() != Token::kEnd) {
    Extraneous(expected);
    return true;
  }
  Mismatched(expected, place);
  return false;
}

bool TokenCursor::Match(Token token, Mask after, Place place) {
  if (La() == token) {
    Consume();
    return true;
  }
  if (halted_ || (recovering_ && La() == Token::kEnd)) return false;
  if (!CountRecovery()) return false;
  if (La() != Token::kEnd && La(1) == token) {
    Extraneous(Bit(token));
    Consume();
    return true;
  }
  if ((Bit(La()) & after) != 0) {
    SyntaxError("missing " + std::string(TokenText(token)) + " at '" + Escape(Text()) + "'");
    return true;
  }
  Mismatched(Bit(token), place);
  return false;
}

Mask TokenCursor::AfterPrimary() const {
  return kBinary | kPostfix | Bit(Token::kQuestion) | follow_.back();
}

void TokenCursor::Halt() {
  if (halted_) return;
  halted_ = true;
  // The tokens behind would not have been looked at yet.
  const Position here = PositionOf(source_, Offset());
  issues_.EraseIf([&here](const Issue& issue) {
    return issue.position.line > here.line ||
           (issue.position.line == here.line && issue.position.column > here.column);
  });
  next_ = tokens_.size() - 1;
  recovering_ = true;
}

void TokenCursor::HaltWith(std::string message) {
  if (halted_) return;
  Halt();
  issues_.Add({-1, -1}, std::move(message));
}

void TokenCursor::Finish(bool with_reports) {
  // Reading would have ended with one more error than are shown.
  if (issues_.size() > kMaxErrors) {
    issues_.Truncate(kMaxErrors);
    issues_.Add({}, "more errors");
  } else if (with_reports && !halted_) {
    for (const Issue& report : reports_.list()) issues_.Add(report.position, report.message);
  }
}

}  // namespace portcullis::cel
