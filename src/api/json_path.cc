// SPDX-License-Identifier: Apache-2.0

#include "api/json_path.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"

namespace portcullis::api {
namespace {

using Kind = JsonPathNode::Kind;

constexpr char32_t kEnd = 0xFFFFFFFF;
constexpr std::string_view kOperatorSigns = "!<>=";

bool IsIn(char32_t rune, const RE2& set) {
  std::string text;
  base::AppendRune(rune, text);
  return RE2::FullMatch(text, set);
}

bool IsDigit(char32_t rune) {
  static const RE2 kDigit(R"(\p{Nd})");
  if (rune < 0x80) return rune >= '0' && rune <= '9';
  return rune != kEnd && IsIn(rune, kDigit);
}

bool IsAlphanumeric(char32_t rune) {
  static const RE2 kLetter(R"(\p{L})");
  if (rune < 0x80)
    return rune == '_' || IsDigit(rune) || ((rune | 0x20) >= 'a' && (rune | 0x20) <= 'z');
  return rune != kEnd && (IsDigit(rune) || IsIn(rune, kLetter));
}

// Whether it ends a field or an identifier.
bool IsTerminator(char32_t rune) {
  constexpr std::string_view kTerminators = " \t\r\n.,[]$@{}";
  return rune == kEnd ||
         (rune < 0x80 && kTerminators.find(static_cast<char>(rune)) != std::string_view::npos);
}

// fmt's %#U: "U+0021 '!'".
std::string CodePoint(char32_t rune) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<std::uint32_t>(rune), 16);
  const std::string_view hex(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
  const std::size_t zeros = hex.size() < 4 ? 4 - hex.size() : 0;
  std::string text = base::StrCat("U+", std::string(zeros, '0'), base::ToUpper(hex));
  if (!base::IsPrintable(rune)) return text;
  text += " '";
  base::AppendRune(rune, text);
  return text + "'";
}

// The value of `size` digits of a number in `base` at the front, which are taken off.
std::optional<char32_t> TakeCode(std::string_view& text, std::size_t size, int base) {
  std::uint32_t value = 0;
  const char* const end = text.data() + std::min(size, text.size());
  const auto read = std::from_chars(text.data(), end, value, base);
  if (text.size() < size || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  text.remove_prefix(size);
  return value;
}

// One escape sequence behind its backslash, as Go's strconv.UnquoteChar reads it.
bool TakeEscape(std::string_view& text, char quote, std::string& out) {
  constexpr std::string_view kNames = "abfnrtv\\";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\";
  if (text.empty()) return false;
  const char name = text.front();
  if (name >= '0' && name <= '7') {
    const auto code = TakeCode(text, 3, 8);
    if (!code || *code > 0xFF) return false;
    out += static_cast<char>(*code);
    return true;
  }
  text.remove_prefix(1);
  if (name == quote) {
    out += name;
    return true;
  }
  if (const std::size_t at = kNames.find(name); at != std::string_view::npos) {
    out += kValues[at];
    return true;
  }
  const std::size_t size = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
  const auto code = size > 0 ? TakeCode(text, size, 16) : std::nullopt;
  if (!code) return false;
  if (name == 'x') {
    out += static_cast<char>(*code);
    return true;
  }
  if (*code > 0x10FFFF || (*code >= 0xD800 && *code <= 0xDFFF)) return false;
  base::AppendRune(*code, out);
  return true;
}

// What stands between the quotes of `quoted`; nothing if it is no Go string.
std::optional<std::string> Unquote(std::string_view quoted) {
  if (quoted.size() < 2) return std::nullopt;
  const char quote = quoted.front();
  std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == quote) return std::nullopt;
    if (c != '\\') {
      out += c;
    } else if (!TakeEscape(text, quote, out)) {
      return std::nullopt;
    }
  }
  return out;
}

// strconv.ParseFloat of digits, a sign and dots.
std::optional<double> ReadFloat(std::string_view text) {
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  const std::string_view digits = text.substr(is_signed ? 1 : 0);
  if (digits.empty() || digits == "." || std::count(digits.begin(), digits.end(), '.') > 1 ||
      digits.find_first_not_of("0123456789.") != std::string_view::npos) {
    return std::nullopt;
  }
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool is_out_of_range = read.ec == std::errc::result_out_of_range;
  const std::string_view whole = digits.substr(0, digits.find('.'));
  if (is_out_of_range && whole.find_first_not_of('0') != std::string_view::npos) {
    return std::nullopt;
  }
  if (is_out_of_range) value = 0;  // too small to tell from it
  return text.starts_with('-') ? -value : value;
}

// "-12", "", of ASCII digits.
bool IsBound(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : input_(text) {}

  // Text with paths in braces, of which the first is returned.
  base::Result<JsonPath> Parse() {
    JsonPath first;
    bool is_first = true;
    while ((position_ = input_.find('{', position_)) != std::string_view::npos) {
      ++position_;
      JsonPath path = TRY(Action());
      if (is_first) first = std::move(path);
      is_first = false;
    }
    return first;
  }

 private:
  static base::Result<JsonPath> ParsePart(std::string_view text) {
    return Parser(base::StrCat("{", text, "}")).Parse();
  }

  char32_t Peek() const {
    std::size_t size = 0;
    return position_ < input_.size() ? base::DecodeRune(Rest(), size) : kEnd;
  }
  char32_t Next() {
    if (position_ >= input_.size()) return kEnd;
    std::size_t size = 0;
    const char32_t rune = base::DecodeRune(Rest(), size);
    position_ += size;
    return rune;
  }
  std::string_view Rest() const { return std::string_view(input_).substr(position_); }
  std::string_view Since(std::size_t start) const {
    return std::string_view(input_).substr(start, position_ - start);
  }

  base::Result<JsonPath> Action() {
    JsonPath path;
    while (!Rest().starts_with('}')) {
      if (Rest().starts_with("[?(")) {
        TRY(Filter(path));
      } else if (Rest().starts_with("..")) {
        TRY(Recursive(path));
      } else {
        TRY(Step(path));
      }
    }
    ++position_;
    return path;
  }

  base::Status Step(JsonPath& path) {
    const char32_t rune = Peek();
    if (rune == '+' || rune == '-' || IsDigit(rune)) return Number(path);
    if (IsAlphanumeric(rune)) {
      Identifier(path);
      return base::OkStatus();
    }
    Next();
    if (rune == kEnd || rune == '\r' || rune == '\n') return base::BadRequest("unclosed action");
    if (rune == ' ' || rune == '@' || rune == '$') return base::OkStatus();
    if (rune == '[') return Array(path);
    if (rune == '"' || rune == '\'') return Quoted(path, rune);
    if (rune != '.') {
      return base::BadRequest(base::StrCat("unrecognized character in action: ", CodePoint(rune)));
    }
    Field(path);
    return base::OkStatus();
  }

  void Identifier(JsonPath& path) {
    const std::size_t start = position_;
    while (!IsTerminator(Peek())) Next();
    const std::string_view text = Since(start);
    const bool is_truth = text == "true" || text == "false";
    path.push_back({.kind = is_truth ? Kind::kBool : Kind::kIdentifier,
                    .text = std::string(text),
                    .truth = text == "true"});
  }

  base::Status Recursive(JsonPath& path) {
    if (!path.empty() && path.back().kind == Kind::kRecursive) {
      return base::BadRequest("invalid multiple recursive descent");
    }
    position_ += 2;
    path.push_back({.kind = Kind::kRecursive, .text = {}});
    if (IsAlphanumeric(Peek())) Field(path);
    return base::OkStatus();
  }

  // Up to the next terminator; a backslash takes away the meaning of what follows it.
  void Field(JsonPath& path) {
    const std::size_t start = position_;
    while (!IsTerminator(Peek())) {
      if (Next() == '\\') Next();
    }
    std::string name(Since(start));
    const bool is_wildcard = name == "*";
    std::erase(name, '\\');
    path.push_back({.kind = is_wildcard ? Kind::kWildcard : Kind::kField, .text = std::move(name)});
  }

  base::Status Number(JsonPath& path) {
    const std::size_t start = position_;
    if (Peek() == '+' || Peek() == '-') Next();
    while (Peek() == '.' || IsDigit(Peek())) Next();
    const std::string_view text = Since(start);
    if (const auto whole = golang::Atoi(text); whole.ok()) {
      path.push_back({.kind = Kind::kInt, .text = {}, .number = *whole});
    } else if (const auto real = ReadFloat(text)) {
      path.push_back({.kind = Kind::kFloat, .text = {}, .real = *real});
    } else {
      return base::BadRequest(base::StrCat("cannot parse number ", text));
    }
    return base::OkStatus();
  }

  base::Status Quoted(JsonPath& path, char32_t quote) {
    const std::size_t start = position_ - 1;
    while (true) {
      const char32_t rune = Next();
      if (rune == kEnd || rune == '\n') return base::BadRequest("unterminated quoted string");
      if (rune == quote && input_[position_ - 2] != '\\') break;
    }
    auto text = Unquote(Since(start));
    if (!text) {
      return base::BadRequest(
          base::StrCat("unquote string ", Since(start), " error invalid syntax"));
    }
    path.push_back({.kind = Kind::kText, .text = *std::move(text)});
    return base::OkStatus();
  }

  base::Status Array(JsonPath& path) {
    const std::size_t end = std::string_view(input_).find_first_of("]\n", position_);
    if (end == std::string_view::npos || input_[end] == '\n') {
      return base::BadRequest("unterminated array");
    }
    const std::string text = input_.substr(position_, end - position_);
    position_ = end + 1;
    if (text == "*") return Slice(path, ":");
    const auto parts = base::Split(text, ',');
    if (parts.size() > 1) return Union(path, parts);
    const bool is_key =
        text.size() >= 2 && text.find('\'') == 0 && text.find('\'', 1) == text.size() - 1;
    if (!is_key) return Slice(path, text);
    for (JsonPathNode& node :
         TRY(ParsePart(base::StrCat(".", std::string_view(text).substr(1, text.size() - 2))))) {
      path.push_back(std::move(node));
    }
    return base::OkStatus();
  }

  static base::Status Union(JsonPath& path, const std::vector<std::string_view>& parts) {
    JsonPathNode node{.kind = Kind::kUnion, .text = {}};
    for (std::string_view part : parts) {
      const std::size_t start = std::min(part.find_first_not_of(' '), part.size());
      part = part.substr(start, part.find_last_not_of(' ') + 1 - start);
      node.paths.push_back(TRY(ParsePart(base::StrCat("[", part, "]"))));
    }
    path.push_back(std::move(node));
    return base::OkStatus();
  }

  static base::Status Slice(JsonPath& path, std::string_view text) {
    const auto parts = base::Split(text, ':');
    if (parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), IsBound)) {
      return base::BadRequest(base::StrCat("invalid array index ", text));
    }
    JsonPathNode node{.kind = Kind::kSlice, .text = {}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].empty()) continue;
      const auto value = golang::Atoi(parts[i]);
      if (!value.ok()) {
        return base::BadRequest(base::StrCat("array index ", parts[i], " is not a number"));
      }
      node.bounds[i] = {.is_known = true, .value = *value};
    }
    if (parts.size() == 1) {
      // Go's numbers wrap around.
      const auto behind = static_cast<std::uint64_t>(node.bounds[0].value) + 1;
      node.bounds[1] = {
          .is_known = true, .is_derived = true, .value = static_cast<std::int64_t>(behind)};
    }
    path.push_back(std::move(node));
    return base::OkStatus();
  }

  // Up to the first ")" that is not between two quotes of one kind; "]" has to follow it.
  base::Status Filter(JsonPath& path) {
    position_ += 3;
    const std::size_t start = position_;
    char32_t quote = 0;
    bool is_closed = false;
    for (char32_t rune = 0; rune != ')' || (quote != 0) != is_closed;) {
      rune = Next();
      if (rune == kEnd || rune == '\n') return base::BadRequest("unterminated filter");
      if (rune != '"' && rune != '\'') continue;
      if (quote == 0) {
        quote = rune;
      } else if (rune == quote && input_[position_ - 2] != '\\') {
        is_closed = true;
      }
    }
    const std::string_view text = Since(start).substr(0, position_ - start - 1);
    if (Next() != ']') return base::BadRequest("unclosed array expect ]");
    path.push_back(TRY(Condition(text)));
    return base::OkStatus();
  }

  static base::Result<JsonPathNode> Condition(std::string_view text) {
    JsonPathNode node{.kind = Kind::kFilter, .text = {}};
    const std::size_t sign = text.find_first_of(kOperatorSigns);
    if (sign == 0 || sign == std::string_view::npos || sign + 1 == text.size()) {
      node.paths.push_back(TRY(ParsePart(text)));
      return node;
    }
    // One character is left for the right side, whatever it is.
    const std::size_t end = std::min(text.find_first_not_of(kOperatorSigns, sign), text.size() - 1);
    node.text = text.substr(sign, end - sign);
    node.paths.push_back(TRY(ParsePart(text.substr(0, sign))));
    node.paths.push_back(TRY(ParsePart(text.substr(end))));
    return node;
  }

  const std::string input_;
  std::size_t position_ = 0;
};

}  // namespace

base::Result<JsonPath> ParseJsonPath(std::string_view path) {
  return Parser(base::StrCat("{", path, "}")).Parse();
}

}  // namespace portcullis::api
