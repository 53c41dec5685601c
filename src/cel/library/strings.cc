// SPDX-License-Identifier: Apache-2.0

// The strings extension. Indexes count code points; for ASCII texts they are bytes.
#include <string>
#include <vector>

#include "base/gotext.h"
#include "base/search.h"
#include "cel/library.h"
#include "cel/library/costs.h"
#include "cel/library/format.h"
#include "cel/program.h"
#include "golang/strings.h"

namespace portcullis::cel {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Byte offset of a code point. REQUIRES: 0 <= index <= CodePoints(text).
std::size_t ByteOffset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && IsContinuation(text[at])) ++at;
    --index;
  }
  return at;
}

Value OutOfRange(EvalContext& context, std::int64_t index) {
  return context.Error("index out of range: " + std::to_string(index));
}

std::int64_t Length(std::string_view text) { return static_cast<std::int64_t>(CodePoints(text)); }

Value CharAt(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::int64_t index = args[1].int_value();
  const std::int64_t size = Length(text);
  if (index < 0 || index > size) return OutOfRange(context, index);
  if (index == size) return Value::String("");
  const std::size_t begin = ByteOffset(text, static_cast<std::size_t>(index));
  return Value::String(text.substr(begin, ByteOffset(text.substr(begin), 1)));
}

Value IndexOf(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::string_view wanted = args[1].text();
  const std::int64_t from = args.size() > 2 ? args[2].int_value() : 0;
  if (args.size() > 2 && from < 0) return OutOfRange(context, from);
  if (wanted.empty()) return Value::Int(from);
  if (context.follows_specification() && from > Length(text)) return OutOfRange(context, from);
  if (from >= Length(text)) return Value::Int(-1);
  const auto found = base::FindText(text, wanted, ByteOffset(text, static_cast<std::size_t>(from)));
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(Length(text.substr(0, found)));
}

Value LastIndexOf(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::string_view wanted = args[1].text();
  const std::int64_t size = Length(text);
  if (args.size() == 2) {
    if (wanted.empty()) return Value::Int(size);
    const auto found = base::FindLastText(text, wanted);
    return Value::Int(found == std::string_view::npos ? -1 : Length(text.substr(0, found)));
  }
  const std::int64_t from = args[2].int_value();
  if (from < 0) return OutOfRange(context, from);
  if (wanted.empty()) return Value::Int(from);
  if (context.follows_specification() && from > size) return OutOfRange(context, from);
  if (from >= size) return Value::Int(-1);
  const auto found =
      base::FindLastText(text, wanted, ByteOffset(text, static_cast<std::size_t>(from)));
  return Value::Int(found == std::string_view::npos ? -1 : Length(text.substr(0, found)));
}

template <char first, char last, int shift>
Value MapAscii(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  char* data = static_cast<char*>(context.arena().Allocate(text.size() + 1, 1));
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    data[i] = c >= first && c <= last ? static_cast<char>(c + shift) : c;
  }
  return Value::String({data, text.size()});
}

// Results longer than this are refused: they could only come from abuse.
constexpr std::size_t kMaxResult = std::size_t{16} << 20;

Value Replace(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::string_view old = args[1].text();
  const std::string_view with = args[2].text();
  std::int64_t count = args.size() > 3 ? args[3].int_value() : -1;
  std::string out;
  std::size_t at = 0;
  if (old.empty()) {
    // Between all characters and at both ends.
    while (count != 0) {
      out += with;
      --count;
      if (at >= text.size()) break;
      const std::size_t size = ByteOffset(text.substr(at), 1);
      out += text.substr(at, size);
      at += size;
      if (out.size() > kMaxResult) return context.Error("string too long");
    }
    out += text.substr(at);
    return MakeString(context.arena(), out);
  }
  while (count != 0) {
    const auto found = base::FindText(text, old, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += with;
    at = found + old.size();
    --count;
    if (out.size() > kMaxResult) return context.Error("string too long");
  }
  if (at == 0) return args[0];
  out += text.substr(at);
  return MakeString(context.arena(), out);
}

Value Split(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::string_view separator = args[1].text();
  std::int64_t limit = args.size() > 2 ? args[2].int_value() : -1;
  std::vector<Value> parts;
  if (limit == 0) return MakeList(context.arena(), parts);
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < text.size() && limit != 1) {
      const std::size_t size = ByteOffset(text.substr(at), 1);
      parts.push_back(Value::String(text.substr(at, size)));
      at += size;
      --limit;
    }
    if (at < text.size()) parts.push_back(Value::String(text.substr(at)));
    return MakeList(context.arena(), parts);
  }
  while (limit != 1) {
    const auto found = base::FindText(text, separator, at);
    if (found == std::string_view::npos) break;
    parts.push_back(Value::String(text.substr(at, found - at)));
    at = found + separator.size();
    --limit;
  }
  parts.push_back(Value::String(text.substr(at)));
  return MakeList(context.arena(), parts);
}

Value Substring(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  const std::int64_t size = Length(text);
  const std::int64_t start = args[1].int_value();
  const std::int64_t end = args.size() > 2 ? args[2].int_value() : size;
  if (args.size() > 2 && start > end) {
    return context.Error("invalid substring range. start: " + std::to_string(start) +
                         ", end: " + std::to_string(end));
  }
  if (start < 0 || start > size) return OutOfRange(context, start);
  if (end < 0 || end > size) return OutOfRange(context, end);
  const std::size_t begin = ByteOffset(text, static_cast<std::size_t>(start));
  const std::size_t length = ByteOffset(text.substr(begin), static_cast<std::size_t>(end - start));
  return Value::String(text.substr(begin, length));
}

Value Trim(EvalContext&, std::span<const Value> args) {
  return Value::String(golang::TrimSpace(args[0].text()));
}

Value Join(EvalContext& context, std::span<const Value> args) {
  const std::string_view separator = args.size() > 1 ? args[1].text() : "";
  std::string out;
  const std::size_t size = args[0].size();
  for (std::size_t i = 0; i < size; ++i) {
    const Value element = args[0].At(context.arena(), i);
    if (!element.is_string()) {
      return context.Error("join: invalid input: " + PlainText(element));
    }
    if (i > 0) out += separator;
    out += element.text();
    if (out.size() > kMaxResult) return context.Error("string too long");
  }
  return MakeString(context.arena(), out);
}

Value Quote(EvalContext& context, std::span<const Value> args) {
  std::string out = "\"";
  for (std::string_view text = args[0].text(); !text.empty();) {
    std::size_t size = 1;
    const char32_t rune = base::DecodeRune(text, size);
    constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kNames = "abfnrtv\\\"";
    const auto special = size == 1 ? kSpecial.find(text[0]) : std::string_view::npos;
    if (special != std::string_view::npos) {
      out += '\\';
      out += kNames[special];
    } else {
      base::AppendRune(rune, out);
    }
    text.remove_prefix(size);
  }
  return MakeString(context.arena(), out + "\"");
}

Value Reverse(EvalContext& context, std::span<const Value> args) {
  const std::string_view text = args[0].text();
  std::string out;
  for (std::size_t end = text.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && IsContinuation(text[begin])) --begin;
    out += text.substr(begin, end - begin);
    end = begin;
  }
  return MakeString(context.arena(), out);
}

constexpr Function kFunctions[] = {
    {.name = "charAt",
     .id = "string_char_at_int",
     .style = Style::kMember,
     .signature = "(string, int) -> string",
     .impl = &CharAt,
     .doc = "The character at an index; empty at the end.",
     .example = "'abc'.charAt(1) == 'b'"},
    {.name = "indexOf",
     .id = "string_index_of_string",
     .style = Style::kMember,
     .signature = "(string, string) -> int",
     .impl = &IndexOf,
     .doc = "Where a text begins first, or -1.",
     .example = "'hello'.indexOf('l') == 2"},
    {.name = "indexOf",
     .id = "string_index_of_string_int",
     .style = Style::kMember,
     .signature = "(string, string, int) -> int",
     .impl = &IndexOf,
     .doc = "The same, from an index on.",
     .example = "'hello'.indexOf('l', 3) == 3"},
    {.name = "lastIndexOf",
     .id = "string_last_index_of_string",
     .style = Style::kMember,
     .signature = "(string, string) -> int",
     .impl = &LastIndexOf,
     .doc = "Where a text begins last, or -1.",
     .example = "'hello'.lastIndexOf('l') == 3"},
    {.name = "lastIndexOf",
     .id = "string_last_index_of_string_int",
     .style = Style::kMember,
     .signature = "(string, string, int) -> int",
     .impl = &LastIndexOf,
     .doc = "The same, up to an index.",
     .example = "'hello'.lastIndexOf('l', 2) == 2"},
    {.name = "lowerAscii",
     .id = "string_lower_ascii",
     .style = Style::kMember,
     .signature = "(string) -> string",
     .impl = &MapAscii<'A', 'Z', 'a' - 'A'>,
     .doc = "ASCII letters in lower case.",
     .example = "'TacoCat'.lowerAscii() == 'tacocat'"},
    {.name = "upperAscii",
     .id = "string_upper_ascii",
     .style = Style::kMember,
     .signature = "(string) -> string",
     .impl = &MapAscii<'a', 'z', 'A' - 'a'>,
     .doc = "ASCII letters in upper case.",
     .example = "'TacoCat'.upperAscii() == 'TACOCAT'"},
    {.name = "replace",
     .id = "string_replace_string_string",
     .style = Style::kMember,
     .signature = "(string, string, string) -> string",
     .impl = &Replace,
     .doc = "Every occurrence of a text replaced.",
     .example = "'hello'.replace('l', 'w') == 'hewwo'"},
    {.name = "replace",
     .id = "string_replace_string_string_int",
     .style = Style::kMember,
     .signature = "(string, string, string, int) -> string",
     .impl = &Replace,
     .doc = "The first occurrences replaced; all if the number is negative.",
     .example = "'hello'.replace('l', 'w', 1) == 'hewlo'"},
    {.name = "split",
     .id = "string_split_string",
     .style = Style::kMember,
     .signature = "(string, string) -> list(string)",
     .impl = &Split,
     .doc = "The pieces between separators.",
     .example = "'a,b'.split(',') == ['a', 'b']"},
    {.name = "split",
     .id = "string_split_string_int",
     .style = Style::kMember,
     .signature = "(string, string, int) -> list(string)",
     .impl = &Split,
     .doc = "At most so many pieces; all if the number is negative.",
     .example = "'a,b,c'.split(',', 2) == ['a', 'b,c']"},
    {.name = "substring",
     .id = "string_substring_int",
     .style = Style::kMember,
     .signature = "(string, int) -> string",
     .impl = &Substring,
     .doc = "The rest from an index on.",
     .example = "'tacocat'.substring(4) == 'cat'"},
    {.name = "substring",
     .id = "string_substring_int_int",
     .style = Style::kMember,
     .signature = "(string, int, int) -> string",
     .impl = &Substring,
     .doc = "The part between two indexes.",
     .example = "'tacocat'.substring(0, 4) == 'taco'"},
    {.name = "trim",
     .id = "string_trim",
     .style = Style::kMember,
     .signature = "(string) -> string",
     .impl = &Trim,
     .doc = "Without white space at both ends.",
     .example = "' a b '.trim() == 'a b'"},
    {.name = "format",
     .id = "string_format",
     .style = Style::kMember,
     .signature = "(string, list(dyn)) -> string",
     .impl = &FormatCall,
     .cost = &TraversalCost,
     .estimate = &EstimateTraversal,
     .since = 1,
     .until = 3,
     .doc = "Clauses %s %d %f %e %b %x %X %o replaced by the elements.",
     .example = "'%s is %d'.format(['a', 1]) == 'a is 1'"},
    {.name = "format",
     .id = "string_format",
     .style = Style::kMember,
     .signature = "(string, list(dyn)) -> string",
     .impl = &PlainFormatCall,
     .cost = &TraversalCost,
     .estimate = &EstimateTraversal,
     .since = 4,
     .doc = "Clauses %s %d %f %e %b %x %X %o replaced by the elements, without regard to a locale.",
     .example = "'%s is %e'.format([[1], 2.0]) == '[1] is 2.000000e+00'"},
    {.name = "strings.quote",
     .id = "strings_quote",
     .signature = "(string) -> string",
     .impl = &Quote,
     .cost = &TraversalCost,
     .estimate = &EstimateQuote,
     .since = 1,
     .doc = "In double quotes, with special characters escaped.",
     .example = "strings.quote('a\"b') == '\"a\\\\\"b\"'"},
    {.name = "join",
     .id = "list_join",
     .style = Style::kMember,
     .signature = "(list(string)) -> string",
     .impl = &Join,
     .doc = "The elements one after the other.",
     .example = "['a', 'b'].join() == 'ab'"},
    {.name = "join",
     .id = "list_join_string",
     .style = Style::kMember,
     .signature = "(list(string), string) -> string",
     .impl = &Join,
     .doc = "The elements with a separator between them.",
     .example = "['a', 'b'].join('-') == 'a-b'"},
    {.name = "reverse",
     .id = "string_reverse",
     .style = Style::kMember,
     .signature = "(string) -> string",
     .impl = &Reverse,
     .since = 3,
     .doc = "The characters in reverse order.",
     .example = "'abc'.reverse() == 'cba'"},
};

}  // namespace

constinit const Library kStringsLibrary = {.name = "strings", .functions = kFunctions};

}  // namespace portcullis::cel
