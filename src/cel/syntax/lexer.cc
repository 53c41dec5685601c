// SPDX-License-Identifier: Apache-2.0

// A hand-written longest-match lexer. What it reports for input that is no token follows the way a
// generated ANTLR lexer fails: the text tried so far including the character that did not fit is
// reported and skipped, unless a shorter token had been complete.
#include <array>
#include <string>

#include "base/gotext.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/token.h"

namespace portcullis::cel {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The outcome of trying one token: complete up to `end`, or failed at `end`.
struct Attempt {
  bool ok = false;
  std::size_t end = 0;
  Token token = Token::kEnd;
};

class Lexer {
 public:
  Lexer(std::string_view source, Issues& issues)
      : source_(source), positions_(source), issues_(issues) {}

  std::vector<TokenAt> Run() {
    std::vector<TokenAt> tokens;
    tokens.reserve(source_.size() / 3 + 2);
    while (SkipBlanks(), at_ < source_.size()) {
      const Attempt attempt = Next();
      if (attempt.ok) {
        tokens.push_back({attempt.token, Offset(at_), Offset(attempt.end - at_)});
        at_ = attempt.end;
      } else {
        Report(attempt.end);
      }
    }
    tokens.push_back({Token::kEnd, Offset(source_.size()), 0});
    return tokens;
  }

 private:
  static std::int32_t Offset(std::size_t at) { return static_cast<std::int32_t>(at); }
  char Peek(std::size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

  void SkipBlanks() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        ++at_;
      } else if (c == '/' && Peek(at_ + 1) == '/') {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  // Reports source[at_, end] inclusive and goes on behind it.
  void Report(std::size_t end) {
    std::size_t size = 0;
    if (end < source_.size()) base::DecodeRune(source_.substr(end), size);
    const std::size_t next = end + size;
    std::string shown;
    for (const char c : source_.substr(at_, next - at_)) {
      if (c == '\n') {
        shown += "\\n";
      } else if (c == '\t') {
        shown += "\\t";
      } else if (c == '\r') {
        shown += "\\r";
      } else {
        shown += c;
      }
    }
    issues_.Add(positions_.Of(Offset(at_)),
                "Syntax error: token recognition error at: '" + shown + "'");
    at_ = next > at_ ? next : at_ + 1;
  }

  Attempt Take(std::size_t size, Token token) const { return {true, at_ + size, token}; }
  Attempt Pair(char second, Token token) const {
    if (Peek(at_ + 1) == second) return Take(2, token);
    return {false, at_ + 1, Token::kEnd};
  }
  Attempt OneOrTwo(char second, Token two, Token one) const {
    return Peek(at_ + 1) == second ? Take(2, two) : Take(1, one);
  }

  Attempt Next() const {
    const char c = source_[at_];
    switch (c) {
      case '[':
        return Take(1, Token::kLeftBracket);
      case ']':
        return Take(1, Token::kRightBracket);
      case '{':
        return Take(1, Token::kLeftBrace);
      case '}':
        return Take(1, Token::kRightBrace);
      case '(':
        return Take(1, Token::kLeftParen);
      case ')':
        return Take(1, Token::kRightParen);
      case ',':
        return Take(1, Token::kComma);
      case '-':
        return Take(1, Token::kMinus);
      case '?':
        return Take(1, Token::kQuestion);
      case ':':
        return Take(1, Token::kColon);
      case '+':
        return Take(1, Token::kPlus);
      case '*':
        return Take(1, Token::kStar);
      case '/':
        return Take(1, Token::kSlash);
      case '%':
        return Take(1, Token::kPercent);
      case '!':
        return OneOrTwo('=', Token::kNotEquals, Token::kExclamation);
      case '<':
        return OneOrTwo('=', Token::kLessEquals, Token::kLess);
      case '>':
        return OneOrTwo('=', Token::kGreaterEquals, Token::kGreater);
      case '=':
        return Pair('=', Token::kEquals);
      case '&':
        return Pair('&', Token::kAnd);
      case '|':
        return Pair('|', Token::kOr);
      case '.':
        return IsDigit(Peek(at_ + 1)) ? Number() : Take(1, Token::kDot);
      case '\'':
      case '"':
        return Quoted(at_, false, Token::kString);
      case '`':
        return Escaped();
      default:
        if (IsDigit(c)) return Number();
        if (IsLetter(c)) return Word();
        return {false, at_, Token::kEnd};
    }
  }

  Attempt Number() const {
    std::size_t at = at_;
    if (source_[at] == '0' && Peek(at + 1) == 'x' && IsHex(Peek(at + 2))) {
      at += 2;
      while (IsHex(Peek(at))) ++at;
      return Integer(at);
    }
    while (IsDigit(Peek(at))) ++at;
    bool is_float = false;
    if (Peek(at) == '.' && IsDigit(Peek(at + 1))) {
      is_float = true;
      ++at;
      while (IsDigit(Peek(at))) ++at;
    }
    if (Peek(at) == 'e' || Peek(at) == 'E') {
      std::size_t digits = at + 1;
      if (Peek(digits) == '+' || Peek(digits) == '-') ++digits;
      if (IsDigit(Peek(digits))) {
        is_float = true;
        at = digits;
        while (IsDigit(Peek(at))) ++at;
      }
    }
    return is_float ? Attempt{true, at, Token::kFloat} : Integer(at);
  }

  Attempt Integer(std::size_t at) const {
    if (Peek(at) == 'u' || Peek(at) == 'U') return {true, at + 1, Token::kUint};
    return {true, at, Token::kInt};
  }

  Attempt Word() const {
    std::size_t at = at_;
    while (at < source_.size() && (IsLetter(source_[at]) || IsDigit(source_[at]))) ++at;
    const std::string_view word = source_.substr(at_, at - at_);
    const char quote = Peek(at);
    if ((quote == '\'' || quote == '"') && word.size() <= 2) {
      if (const Attempt quoted = Prefixed(word, at); quoted.ok) return quoted;
    }
    if (word == "in") return {true, at, Token::kIn};
    if (word == "true") return {true, at, Token::kTrue};
    if (word == "false") return {true, at, Token::kFalse};
    if (word == "null") return {true, at, Token::kNull};
    return {true, at, Token::kIdentifier};
  }

  // r'…', b'…', br'…' in any case; anything else is an identifier followed by a string.
  Attempt Prefixed(std::string_view word, std::size_t quote) const {
    const auto is = [](char c, char lower) { return c == lower || c == lower - 'a' + 'A'; };
    const bool bytes = is(word[0], 'b');
    const char raw = word.size() == 2 ? word[1] : bytes ? '\0' : word[0];
    if (raw != '\0' && !is(raw, 'r')) return {};
    if (word.size() == 2 && !bytes) return {};
    return Quoted(quote, raw != '\0', bytes ? Token::kBytes : Token::kString);
  }

  Attempt Quoted(std::size_t quote, bool raw, Token token) const {
    const char mark = source_[quote];
    const bool triple = Peek(quote + 1) == mark && Peek(quote + 2) == mark;
    if (triple) {
      const Attempt attempt = Body(quote + 3, mark, 3, raw, token);
      if (attempt.ok) return attempt;
      return {true, quote + 2, token};  // the empty string was complete
    }
    return Body(quote + 1, mark, 1, raw, token);
  }

  Attempt Body(std::size_t at, char mark, int marks, bool raw, Token token) const {
    while (at < source_.size()) {
      const char c = source_[at];
      if (c == mark && (marks == 1 || (Peek(at + 1) == mark && Peek(at + 2) == mark))) {
        return {true, at + static_cast<std::size_t>(marks), token};
      }
      if (marks == 1 && (c == '\n' || c == '\r')) return {false, at, token};
      if (c == '\\' && !raw) {
        std::size_t failed = 0;
        at = Escape(at + 1, failed);
        if (at == 0) return {false, failed, token};
        continue;
      }
      ++at;
    }
    return {false, at, token};
  }

  // Index behind an escape whose character is at `at`, or 0 with `failed` set.
  std::size_t Escape(std::size_t at, std::size_t& failed) const {
    const char c = Peek(at);
    constexpr std::string_view kSimple = "abfnrtv\"'\\?`";
    if (at < source_.size() && kSimple.find(c) != std::string_view::npos) return at + 1;
    std::size_t digits = 0;
    if (c == 'x' || c == 'X') digits = 2;
    if (c == 'u') digits = 4;
    if (c == 'U') digits = 8;
    if (digits > 0) {
      for (std::size_t i = 1; i <= digits; ++i) {
        if (!IsHex(Peek(at + i))) {
          failed = std::min(at + i, source_.size());
          return 0;
        }
      }
      return at + digits + 1;
    }
    if (c >= '0' && c <= '3') {
      for (std::size_t i = 1; i <= 2; ++i) {
        if (Peek(at + i) < '0' || Peek(at + i) > '7') {
          failed = std::min(at + i, source_.size());
          return 0;
        }
      }
      return at + 3;
    }
    failed = std::min(at, source_.size());
    return 0;
  }

  Attempt Escaped() const {
    std::size_t at = at_ + 1;
    constexpr std::string_view kExtra = ".-/ ";
    while (at < source_.size() && (IsLetter(source_[at]) || IsDigit(source_[at]) ||
                                   kExtra.find(source_[at]) != std::string_view::npos)) {
      ++at;
    }
    if (at > at_ + 1 && Peek(at) == '`') return {true, at + 1, Token::kEscapedIdentifier};
    return {false, at, Token::kEnd};
  }

  std::string_view source_;
  Positions positions_;
  Issues& issues_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 36> kTexts = {
    "<EOF>",  "'=='",  "'!='",       "'in'",          "'<'",    "'<='",      "'>='",    "'>'",
    "'&&'",   "'||'",  "'['",        "']'",           "'{'",    "'}'",       "'('",     "')'",
    "'.'",    "','",   "'-'",        "'!'",           "'?'",    "':'",       "'+'",     "'*'",
    "'/'",    "'%'",   "'true'",     "'false'",       "'null'", "NUM_FLOAT", "NUM_INT", "NUM_UINT",
    "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"};

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  return (c | 0x20) - 'a' + 10;
}

}  // namespace

std::vector<TokenAt> Tokenize(std::string_view source, Issues& issues) {
  return Lexer(source, issues).Run();
}

std::string_view TokenText(Token token) { return kTexts[static_cast<std::size_t>(token)]; }

bool Unquote(std::string_view token, bool bytes, std::string& out, std::string& error) {
  bool raw = false;
  while (token.front() != '\'' && token.front() != '"') {
    raw = raw || token.front() == 'r' || token.front() == 'R';
    token.remove_prefix(1);
  }
  const bool triple = token.size() >= 6 && token[0] == token[1] && token[1] == token[2];
  const std::size_t marks = triple ? 3 : 1;
  token = token.substr(marks, token.size() - 2 * marks);
  for (std::size_t i = 0; i < token.size();) {
    char c = token[i];
    if (c == '\r') {  // \r\n and \r become \n
      if (i + 1 < token.size() && token[i + 1] == '\n') ++i;
      c = '\n';
    }
    if (c != '\\' || raw) {
      out += c;
      ++i;
      continue;
    }
    c = token[i + 1];
    constexpr std::string_view kNames = "abfnrtv";
    constexpr std::string_view kCodes = "\a\b\f\n\r\t\v";
    if (const auto simple = kNames.find(c); simple != std::string_view::npos) {
      out += kCodes[simple];
      i += 2;
      continue;
    }
    std::size_t digits = 0;
    unsigned base = 16;
    std::size_t first = i + 2;
    if (c == 'x' || c == 'X') digits = 2;
    if (c == 'u') digits = 4;
    if (c == 'U') digits = 8;
    if (c >= '0' && c <= '3') {
      digits = 3;
      base = 8;
      first = i + 1;
    }
    if (digits == 0) {  // the character itself: quotes, backslash, question mark
      out += c;
      i += 2;
      continue;
    }
    std::uint32_t code = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      code = code * base + static_cast<std::uint32_t>(HexValue(token[first + d]));
    }
    i = first + digits;
    if (bytes && (c == 'u' || c == 'U')) {
      error = "unable to unescape string";
      return false;
    }
    if (bytes) {
      out += static_cast<char>(code);
      continue;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      error = "invalid unicode code point";
      return false;
    }
    base::AppendRune(static_cast<char32_t>(code), out);
  }
  return true;
}

}  // namespace portcullis::cel
