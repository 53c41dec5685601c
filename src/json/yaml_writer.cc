// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "json/go_float.h"
#include "json/indentation.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace portcullis::json {
namespace {

// What the two versions of go-yaml do differently.
struct Dialect {
  int step;   // of indentation
  int width;  // of lines, behind which they are folded
  bool is_v3;
};
constexpr Dialect kV2{2, 80, false};
constexpr Dialect kV3{4, std::numeric_limits<int>::max(), true};
// Longer names are written as "? name" on a line of their own.
constexpr std::size_t kMaxSimpleKey = 128;

// --- The order of names: digits compare as numbers, letters sort behind everything else. ---

bool IsDigit(char32_t rune) { return rune >= '0' && rune <= '9'; }

bool IsLetter(char32_t rune) {
  if (rune < 0x80) return (rune >= 'a' && rune <= 'z') || (rune >= 'A' && rune <= 'Z');
  return rune >= 0xC0 && rune != 0xD7 && rune != 0xF7 && (rune < 0x2000 || rune > 0x2BFF);
}

std::u32string Runes(std::string_view text) {
  std::u32string runes;
  while (!text.empty()) {
    std::size_t size = 0;
    runes += base::DecodeRune(text, size);
    text.remove_prefix(size);
  }
  return runes;
}

struct DigitRun {
  std::uint64_t number = 0;
  std::size_t end = 0;
};

DigitRun ReadDigits(const std::u32string& text, std::size_t begin, std::uint64_t number) {
  DigitRun run{number, begin};
  for (; run.end < text.size() && IsDigit(text[run.end]); ++run.end) {
    run.number = run.number * 10 + (text[run.end] - '0');
  }
  return run;
}

// Whether the digits before `at` have one that is not 0, so that a 0 there is no leading one.
bool WithinNumber(const std::u32string& text, std::size_t at) {
  while (at > 0 && IsDigit(text[at - 1])) {
    if (text[--at] != '0') return true;
  }
  return false;
}

bool NameLess(const std::u32string& a, const std::u32string& b) {
  const std::size_t common = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (a[i] == b[i]) continue;
    const bool a_letter = IsLetter(a[i]);
    const bool b_letter = IsLetter(b[i]);
    if (a_letter && b_letter) return a[i] < b[i];
    if (a_letter || b_letter) return b_letter;
    const bool zero = a[i] == '0' || b[i] == '0';
    const std::uint64_t start = zero && WithinNumber(a, i) ? 1 : 0;
    const DigitRun a_run = ReadDigits(a, i, start);
    const DigitRun b_run = ReadDigits(b, i, start);
    if (a_run.number != b_run.number) return a_run.number < b_run.number;
    if (a_run.end != b_run.end) return a_run.end < b_run.end;
    return a[i] < b[i];
  }
  return a.size() < b.size();
}

std::vector<const Member*> SortedMembers(const Value& object) {
  struct Named {
    std::u32string name;
    const Member* member;
  };
  std::vector<Named> named;
  named.reserve(object.size());
  for (const Member& member : object.members()) named.push_back({Runes(member.name()), &member});
  std::stable_sort(named.begin(), named.end(),
                   [](const Named& a, const Named& b) { return NameLess(a.name, b.name); });
  std::vector<const Member*> members;
  members.reserve(named.size());
  for (const Named& entry : named) members.push_back(entry.member);
  return members;
}

// --- How a string may be written ---

enum class Style { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral };

// Characters that need no escape; others force double quotes. Tabs and everything beyond the basic
// plane count as unprintable, as in Go's library.
bool IsPrintable(char32_t rune) {
  if (rune == '\n') return true;
  if (rune < 0x20 || rune == 0x7F) return false;
  if (rune < 0x7F) return true;
  return rune >= 0xA0 && rune <= 0xFFFD && rune != 0xFEFF && rune != 0x2028 && rune != 0x2029 &&
         (rune < 0xD800 || rune > 0xDFFF);
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Whether characters of the text would be taken for YAML's syntax if it stood without quotes.
bool HasIndicators(std::string_view text) {
  if (text.starts_with("---") || text.starts_with("...")) return true;
  constexpr std::string_view kNeverFirst = "#,[]{}&*!|>'\"%@`";
  if (kNeverFirst.find(text[0]) != std::string_view::npos) return true;
  const auto blank_after = [&](std::size_t i) {
    return i + 1 >= text.size() || IsBlank(text[i + 1]);
  };
  if ((text[0] == '?' || text[0] == '-') && blank_after(0)) return true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':' && blank_after(i)) return true;
    if (text[i] == '#' && (IsBlank(text[i - 1]) || text[i - 1] == '\n')) return true;
  }
  return false;
}

struct Allowed {
  bool plain = true;
  bool single_quoted = true;
  bool literal = true;
};

Allowed Analyze(std::string_view text) {
  if (text.empty()) return {true, true, false};
  Allowed allowed;
  const char first = text.front();
  const char last = text.back();
  if (first == ' ' || last == ' ' || text.find('\n') != std::string_view::npos) {
    allowed.plain = false;
  }
  if (HasIndicators(text)) allowed.plain = false;
  if (last == ' ') allowed.literal = false;
  if (text.find("\n ") != std::string_view::npos) allowed.single_quoted = false;
  bool special = text.find(" \n") != std::string_view::npos;
  for (std::string_view rest = text; !rest.empty() && !special;) {
    std::size_t size = 0;
    special = !IsPrintable(base::DecodeRune(rest, size));
    rest.remove_prefix(size);
  }
  return special ? Allowed{false, false, false} : allowed;
}

// Whether plain text would be read as anything but a string.
bool NeedsQuotes(std::string_view text, const Dialect& dialect) {
  if (!dialect.is_v3) return internal::NeedsQuotes(text);
  const auto scalar = internal::ResolveScalar("", text);
  if (text == "<<" || !scalar.ok() || scalar->tag == internal::YamlTag::kString) return false;
  // Not "yes", "on" and the like.
  return scalar->tag != internal::YamlTag::kBool || text.size() > 3;
}

Style ChooseStyle(std::string_view text, bool is_key, const Dialect& dialect) {
  const Allowed allowed = Analyze(text);
  if (text.find('\n') != std::string_view::npos) {
    return allowed.literal && !is_key ? Style::kLiteral : Style::kDoubleQuoted;
  }
  if (NeedsQuotes(text, dialect)) return Style::kDoubleQuoted;
  if (allowed.plain) return Style::kPlain;
  return allowed.single_quoted ? Style::kSingleQuoted : Style::kDoubleQuoted;
}

std::string_view EscapeName(char32_t rune) {
  switch (rune) {
    case 0x00:
      return "0";
    case 0x07:
      return "a";
    case 0x08:
      return "b";
    case 0x09:
      return "t";
    case 0x0A:
      return "n";
    case 0x0B:
      return "v";
    case 0x0C:
      return "f";
    case 0x0D:
      return "r";
    case 0x1B:
      return "e";
    case '"':
      return "\"";
    case '\\':
      return "\\";
    case 0x85:
      return "N";
    case 0xA0:
      return "_";
    case 0x2028:
      return "L";
    case 0x2029:
      return "P";
    default:
      return "";
  }
}

std::string Escape(char32_t rune) {
  const std::string_view name = EscapeName(rune);
  if (!name.empty()) return base::StrCat("\\", name);
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const int digits = rune <= 0xFF ? 2 : rune <= 0xFFFF ? 4 : 8;
  std::string out = rune <= 0xFF ? "\\x" : rune <= 0xFFFF ? "\\u" : "\\U";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out += kDigits[(rune >> static_cast<unsigned>(shift)) & 0xF];
  }
  return out;
}

std::string NumberText(const Value& value) {
  if (value.is_int()) return std::to_string(value.AsInt());
  // Through JSON text, where whole numbers have no fraction.
  std::string text;
  WriteDouble(value.AsDouble(), text);
  const std::string_view digits = std::string_view(text).substr(text[0] == '-' ? 1 : 0);
  const bool whole = digits.find_first_not_of("0123456789") == std::string_view::npos;
  const double limit = text[0] == '-' ? 0x1p63 : 0x1p64;
  if (whole && std::fabs(value.AsDouble()) < limit) return text;
  return internal::FormatShortest(value.AsDouble());
}

// --- Layout ---

class Emitter {
 public:
  Emitter(const Dialect& dialect, std::string& out) : dialect_(dialect), out_(out) {}

  void Document(const Value& root) {
    Node(root, false);
    indent_ = -1;
    StartLine();
  }

 private:
  void Node(const Value& value, bool in_mapping) {
    in_mapping_ = in_mapping;
    if (!in_flow_ && !value.empty() && indent_ >= kMaxIndentedLevels * dialect_.step) {
      in_flow_ = true;
      Flow(value);
      in_flow_ = false;
      return;
    }
    switch (value.type()) {
      case Type::kNull:
        return Scalar("null", Style::kPlain, false);
      case Type::kBool:
        return Scalar(value.AsBool() ? "true" : "false", Style::kPlain, false);
      case Type::kInt:
      case Type::kDouble:
        return Scalar(NumberText(value), Style::kPlain, false);
      case Type::kString:
        return String(value.AsString(), false);
      case Type::kArray:
        return value.empty() ? Indicator("[]", true, false) : Sequence(value, in_mapping);
      case Type::kObject:
        return value.empty() ? Indicator("{}", true, false) : Mapping(value, in_mapping);
    }
  }

  std::vector<const Member*> MembersOf(const Value& object) const {
    if (!dialect_.is_v3) return SortedMembers(object);
    std::vector<const Member*> members;
    for (const Member& member : object.members()) members.push_back(&member);
    return members;
  }

  void Mapping(const Value& value, bool in_mapping) {
    const int outer = indent_;
    Indent(in_mapping);
    for (const Member* member : MembersOf(value)) {
      StartLine();
      const std::string_view name = member->name();
      if (name.size() <= kMaxSimpleKey && name.find('\n') == std::string_view::npos) {
        String(name, true);
        Indicator(":", false, false);
      } else {
        Indicator("?", true, true);
        String(name, false);
        StartLine();
        Indicator(":", true, true);
      }
      Node(member->value, true);
    }
    indent_ = outer;
  }

  void Sequence(const Value& value, bool in_mapping) {
    const int outer = indent_;
    // Items of a member's array stand below its name in v2, not deeper.
    if (!in_mapping || at_indent_ || dialect_.is_v3) Indent(in_mapping);
    for (const Value& element : value.elements()) {
      StartLine();
      Indicator("-", true, true);
      Node(element, false);
    }
    indent_ = outer;
  }

  // In brackets, on one line.
  void Flow(const Value& value) {
    if (value.empty()) return Node(value, true);
    Indicator(value.is_object() ? "{" : "[", true, false);
    auto separate = [&, first = true]() mutable {
      if (!std::exchange(first, false)) Indicator(",", false, false);
    };
    for (const Value& element : value.elements()) {
      separate();
      Flow(element);
    }
    for (const Member* member : MembersOf(value)) {
      separate();
      const bool is_long = member->name().size() > kMaxSimpleKey;
      if (is_long) Indicator("?", true, false);
      String(member->name(), true);
      Indicator(":", is_long, false);
      Flow(member->value);
    }
    Indicator(value.is_object() ? "}" : "]", false, false);
  }

  void String(std::string_view text, bool is_key) {
    is_key |= in_flow_;  // has one line
    const auto style = [&](std::string_view valid) {
      return in_flow_ ? Style::kDoubleQuoted : ChooseStyle(valid, is_key, dialect_);
    };
    if (base::IsValidUtf8(text)) return Scalar(text, style(text), is_key);
    std::string valid;
    for (std::size_t size = 0; !text.empty(); text.remove_prefix(size)) {
      base::AppendRune(base::DecodeRune(text, size), valid);
    }
    Scalar(valid, style(valid), is_key);
  }

  void Scalar(std::string_view text, Style style, bool is_key) {
    const int outer = indent_;
    indent_ = indent_ < 0 ? dialect_.step : Deeper(in_mapping_);  // where continuation lines stand
    switch (style) {
      case Style::kPlain:
        if (!after_space_) Put(' ');
        Folded(text, style, is_key);
        break;
      case Style::kSingleQuoted:
        Indicator("'", true, false);
        Folded(text, style, is_key);
        Indicator("'", false, false);
        break;
      case Style::kDoubleQuoted:
        Indicator("\"", true, false);
        Folded(text, style, is_key);
        Indicator("\"", false, false);
        break;
      case Style::kLiteral:
        Literal(text);
        break;
    }
    if (style != Style::kLiteral) {
      after_space_ = false;
      at_indent_ = false;
    }
    indent_ = outer;
  }

  // Text of one line; breaks it at spaces behind column 80 unless it is a key.
  void Folded(std::string_view text, Style style, bool is_key) {
    bool spaces = false;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t size = 0;
      const char32_t rune = base::DecodeRune(text.substr(i), size);
      const bool escaped = style == Style::kDoubleQuoted &&
                           (!IsPrintable(rune) || rune == '\n' || rune == '"' || rune == '\\');
      if (escaped) {
        for (const char c : Escape(rune)) Put(c);
        spaces = false;
      } else if (rune == ' ') {
        if (!is_key && !spaces && column_ > dialect_.width && MayFold(text, i, style)) {
          StartLine();
          if (style == Style::kDoubleQuoted && text[i + 1] == ' ') Put('\\');
        } else {
          Put(' ');
        }
        spaces = true;
      } else {
        if (rune == '\'' && style == Style::kSingleQuoted) Put('\'');
        out_.append(text.substr(i, size));
        ++column_;
        at_indent_ = false;
        spaces = false;
      }
      i += size;
    }
  }

  static bool MayFold(std::string_view text, std::size_t at, Style style) {
    const bool space_next = at + 1 < text.size() && text[at + 1] == ' ';
    const bool inside = at > 0 && at + 1 < text.size();
    if (style == Style::kPlain) return !space_next;
    return inside && (style == Style::kDoubleQuoted || !space_next);
  }

  void Literal(std::string_view text) {
    Indicator("|", true, false);
    if (text[0] == ' ' || text[0] == '\n') Indicator(dialect_.is_v3 ? "4" : "2", false, false);
    if (text.back() != '\n') {
      Indicator("-", false, false);
    } else if (text.size() == 1 || text[text.size() - 2] == '\n') {
      Indicator("+", false, false);
    }
    Break();
    at_indent_ = true;
    after_space_ = true;
    bool new_line = true;
    for (const char c : text) {
      if (c == '\n') {
        Break();
        at_indent_ = true;
        new_line = true;
        continue;
      }
      if (new_line) StartLine();
      out_ += c;
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column_;
      at_indent_ = false;
      new_line = false;
    }
  }

  // The cursor: how far it is, whether only indentation (and "- ") stands before it, whether a
  // space does.
  void Indent(bool in_mapping) { indent_ = indent_ < 0 ? 0 : Deeper(in_mapping); }

  // In v3 what is in an element stands behind its "- ", all else at a multiple of the step.
  int Deeper(bool in_mapping) const {
    if (!dialect_.is_v3) return indent_ + dialect_.step;
    return in_mapping ? (indent_ / dialect_.step + 1) * dialect_.step : indent_ + 2;
  }

  void StartLine() {
    const int indent = std::max(indent_, 0);
    if (!at_indent_ || column_ > indent || (column_ == indent && !after_space_)) Break();
    while (column_ < indent) Put(' ');
    after_space_ = true;
    at_indent_ = true;
  }

  void Indicator(std::string_view text, bool needs_space, bool keeps_indent) {
    if (needs_space && !after_space_) Put(' ');
    for (const char c : text) Put(c);
    after_space_ = false;
    at_indent_ = at_indent_ && keeps_indent;
  }

  void Put(char c) {
    out_ += c;
    ++column_;
  }

  void Break() {
    out_ += '\n';
    column_ = 0;
  }

  const Dialect& dialect_;
  std::string& out_;
  int indent_ = -1;
  int column_ = 0;
  bool after_space_ = true;
  bool at_indent_ = true;
  bool in_mapping_ = false;  // the value that is written is a member's
  bool in_flow_ = false;     // within brackets
};

}  // namespace

void WriteYaml(const Value& value, std::string& out) { Emitter(kV2, out).Document(value); }

std::string ToYaml(const Value& value) {
  std::string out;
  WriteYaml(value, out);
  return out;
}

std::string ToYamlV3(const Value& value) {
  std::string out;
  Emitter(kV3, out).Document(value);
  return out;
}

}  // namespace portcullis::json
