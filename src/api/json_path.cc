// SPDX-License-Identifier: Apache-2.0

#include "api/json_path.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

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

base::Result<JsonPathBounds> ReadBounds(std::string_view text) {
  const auto parts = base::Split(text, ':');
  if (parts.size() > 3 || !std::all_of(parts.begin(), parts.end(), IsBound)) {
    return base::BadRequest(base::StrCat("invalid array index ", text));
  }
  JsonPathBounds bounds;
  JsonPathBounds::Bound* const places[] = {&bounds.first, &bounds.last, &bounds.step};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) continue;
    const auto value = golang::Atoi(parts[i]);
    if (!value.ok()) {
      return base::BadRequest(base::StrCat("array index ", parts[i], " is not a number"));
    }
    *places[i] = {.is_known = true, .value = *value};
  }
  if (parts.size() == 1) {
    // Go's numbers wrap around.
    const auto behind = static_cast<std::uint64_t>(bounds.first.value) + 1;
    bounds.last = {
        .is_known = true, .is_derived = true, .value = static_cast<std::int64_t>(behind)};
  }
  return bounds;
}

// Appends the nodes of one text to a path. The text is read as if "}" stood behind it.
class Parser {
 public:
  Parser(std::string_view text, JsonPath& path) : text_(text), path_(path) {}

  // Of several paths in braces only the first is kept.
  base::Status Parse() {
    TRY(Action());
    const std::size_t last = last_;
    const std::size_t size = path_.nodes.size();
    while ((position_ = text_.find('{', position_)) != std::string_view::npos) {
      ++position_;
      last_ = kNone;
      TRY(Action());
      path_.nodes.resize(size);
    }
    last_ = last;
    return base::OkStatus();
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  // The rune at `position_` and its size.
  char32_t Peek(std::size_t& size) const {
    size = 1;
    if (position_ < text_.size()) return base::DecodeRune(Rest(), size);
    return position_ == text_.size() ? '}' : kEnd;
  }
  char32_t Peek() const {
    std::size_t size = 0;
    return Peek(size);
  }
  char32_t Next() {
    std::size_t size = 0;
    const char32_t rune = Peek(size);
    if (rune != kEnd) position_ += size;
    return rune;
  }
  std::string_view Rest() const { return text_.substr(std::min(position_, text_.size())); }
  std::string_view Since(std::size_t start) const { return text_.substr(start, position_ - start); }

  void Add(Kind kind, std::string_view text = {}) {
    last_ = path_.nodes.size();
    path_.nodes.push_back({.kind = kind, .text = text});
  }
  std::string_view Keep(std::string text) { return path_.texts.emplace_back(std::move(text)); }

  // A path within the node `around`, which is a filter or a union.
  base::Status Within(std::size_t around, std::string_view text) {
    Parser inner(text, path_);
    TRY(inner.Parse());
    inner.End(around);
    return base::OkStatus();
  }
  void End(std::size_t around) {
    if (last_ == kNone) Add(Kind::kSelf);
    path_.nodes[last_].ends_path = true;
    path_.nodes[around].size = static_cast<std::uint32_t>(path_.nodes.size() - around - 1);
  }

  base::Status Action() {
    while (Peek() != '}') {
      if (Rest().starts_with("[?(")) {
        TRY(Filter());
      } else if (Rest().starts_with("..")) {
        TRY(Recursive());
      } else {
        TRY(Step());
      }
    }
    ++position_;
    return base::OkStatus();
  }

  base::Status Step() {
    const char32_t rune = Peek();
    if (rune == '+' || rune == '-' || IsDigit(rune)) return Number();
    if (IsAlphanumeric(rune)) {
      Identifier();
      return base::OkStatus();
    }
    Next();
    if (rune == kEnd || rune == '\r' || rune == '\n') return base::BadRequest("unclosed action");
    if (rune == ' ' || rune == '@' || rune == '$') return base::OkStatus();
    if (rune == '[') return Array();
    if (rune == '"' || rune == '\'') return Quoted(rune);
    if (rune != '.') {
      return base::BadRequest(base::StrCat("unrecognized character in action: ", CodePoint(rune)));
    }
    Field();
    return base::OkStatus();
  }

  void Identifier() {
    const std::size_t start = position_;
    while (!IsTerminator(Peek())) Next();
    const std::string_view text = Since(start);
    Add(text == "true" || text == "false" ? Kind::kBool : Kind::kIdentifier, text);
  }

  base::Status Recursive() {
    if (last_ != kNone && path_.nodes[last_].kind == Kind::kRecursive) {
      return base::BadRequest("invalid multiple recursive descent");
    }
    position_ += 2;
    Add(Kind::kRecursive);
    if (IsAlphanumeric(Peek())) Field();
    return base::OkStatus();
  }

  // Up to the next terminator; a backslash takes away the meaning of what follows it.
  void Field() {
    const std::size_t start = position_;
    while (!IsTerminator(Peek())) {
      if (Next() == '\\') Next();
    }
    std::string_view name = Since(start);
    if (name == "*") return Add(Kind::kWildcard);
    if (name.find('\\') != std::string_view::npos) {
      std::string plain(name);
      std::erase(plain, '\\');
      name = Keep(std::move(plain));
    }
    Add(Kind::kField, name);
  }

  base::Status Number() {
    const std::size_t start = position_;
    if (Peek() == '+' || Peek() == '-') Next();
    while (Peek() == '.' || IsDigit(Peek())) Next();
    const std::string_view text = Since(start);
    if (golang::Atoi(text).ok()) {
      Add(Kind::kInt, text);
    } else if (ReadFloat(text)) {
      Add(Kind::kFloat, text);
    } else {
      return base::BadRequest(base::StrCat("cannot parse number ", text));
    }
    return base::OkStatus();
  }

  base::Status Quoted(char32_t quote) {
    const std::size_t start = position_ - 1;
    while (true) {
      const char32_t rune = Next();
      if (rune == kEnd || rune == '\n') return base::BadRequest("unterminated quoted string");
      if (rune == quote && text_[position_ - 2] != '\\') break;
    }
    const std::string_view quoted = Since(start);
    if (quoted.find('\\') == std::string_view::npos) {
      Add(Kind::kText, quoted.substr(1, quoted.size() - 2));
    } else if (auto text = Unquote(quoted)) {
      Add(Kind::kText, Keep(*std::move(text)));
    } else {
      return base::BadRequest(base::StrCat("unquote string ", quoted, " error invalid syntax"));
    }
    return base::OkStatus();
  }

  base::Status Array() {
    const std::size_t end = text_.find_first_of("]\n", position_);
    if (end == std::string_view::npos || text_[end] == '\n') {
      return base::BadRequest("unterminated array");
    }
    const std::string_view text = text_.substr(position_, end - position_);
    position_ = end + 1;
    return text.find(',') == std::string_view::npos ? Element(text) : Union(text);
  }

  // "*", "'key'", "first:last:step".
  base::Status Element(std::string_view text) {
    const bool is_key =
        text.size() >= 2 && text.find('\'') == 0 && text.find('\'', 1) == text.size() - 1;
    if (is_key) {
      Parser key(Keep(base::StrCat(".", text.substr(1, text.size() - 2))), path_);
      TRY(key.Parse());
      last_ = key.last_;
      return base::OkStatus();
    }
    if (text == "*") text = ":";
    TRY(ReadBounds(text));
    Add(Kind::kSlice, text);
    return base::OkStatus();
  }

  base::Status Union(std::string_view text) {
    Add(Kind::kUnion);
    for (std::string_view part : base::Split(text, ',')) {
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
      part = part.substr(0, part.find_last_not_of(' ') + 1);
      if (part.starts_with("?(")) {
        TRY(Within(last_, Keep(base::StrCat("[", part, "]"))));
      } else {
        Parser element({}, path_);
        TRY(element.Element(part));
        element.End(last_);
      }
    }
    return base::OkStatus();
  }

  // Up to the first ")" that is not between two quotes of one kind; "]" has to follow it.
  base::Status Filter() {
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
      } else if (rune == quote && text_[position_ - 2] != '\\') {
        is_closed = true;
      }
    }
    const std::string_view text = Since(start).substr(0, position_ - start - 1);
    if (Next() != ']') return base::BadRequest("unclosed array expect ]");
    return Condition(text);
  }

  base::Status Condition(std::string_view text) {
    const std::size_t sign = text.find_first_of(kOperatorSigns);
    if (sign == 0 || sign == std::string_view::npos || sign + 1 == text.size()) {
      Add(Kind::kFilter);
      return Within(last_, text);
    }
    // One character is left for the right side, whatever it is.
    const std::size_t end = std::min(text.find_first_not_of(kOperatorSigns, sign), text.size() - 1);
    Add(Kind::kFilter, text.substr(sign, end - sign));
    TRY(Within(last_, text.substr(0, sign)));
    return Within(last_, text.substr(end));
  }

  const std::string_view text_;
  JsonPath& path_;
  std::size_t position_ = 0;
  std::size_t last_ = kNone;  // the last step of what is read, which may have nodes within it
};

}  // namespace

base::Result<JsonPath> ParseJsonPath(std::string_view path) {
  JsonPath parsed;
  parsed.nodes.reserve(path.size());  // each has a character of its own
  TRY(Parser(path, parsed).Parse());
  return parsed;
}

std::int64_t IntOf(const JsonPathNode& node) {
  const auto value = golang::Atoi(node.text);
  return value.ok() ? *value : 0;
}

double FloatOf(const JsonPathNode& node) { return ReadFloat(node.text).value_or(0); }

JsonPathBounds BoundsOf(const JsonPathNode& node) {
  const auto bounds = ReadBounds(node.text);
  return bounds.ok() ? *bounds : JsonPathBounds{};
}

}  // namespace portcullis::api
