// SPDX-License-Identifier: Apache-2.0

#include "json/verbatim.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace portcullis::json {
namespace {

constexpr std::string_view kLineSeparators = "\xE2\x80";  // and A8 or A9

// How Go escapes the character that `text` begins with, and its size; "" if it does not.
std::string_view Escape(std::string_view text, std::size_t& size) {
  size = 1;
  switch (text.front()) {
    case '<':
      return "\\u003c";
    case '>':
      return "\\u003e";
    case '&':
      return "\\u0026";
    default:
      break;
  }
  if (text.size() < 3 || !text.starts_with(kLineSeparators)) return "";
  size = 3;
  if (text[2] == '\xA8') return "\\u2028";
  return text[2] == '\xA9' ? "\\u2029" : "";
}

// A text and its copy.
struct Copied {
  std::string_view from;
  std::string_view to;
};

// The text of an inner value is mostly a part of `outer`.
Copied CopyText(Arena& arena, std::string_view text, const Copied& outer) {
  const std::less_equal<> is_before;
  const bool is_inner = is_before(outer.from.data(), text.data()) &&
                        is_before(text.data() + text.size(), outer.from.data() + outer.from.size());
  if (!is_inner) return {text, arena.Copy(text)};
  const auto at = static_cast<std::size_t>(text.data() - outer.from.data());
  return {text, outer.to.substr(at, text.size())};
}

Value CopyWithin(Arena& arena, Value value, Copied outer) {
  if (!value.is_array() && !value.is_object()) return DeepCopy(arena, value);
  internal::Source source;
  if (const std::string_view text = value.source(); !text.empty()) {
    outer = CopyText(arena, text, outer);
    source = {outer.to.data(), static_cast<std::uint32_t>(outer.to.size())};
  }
  if (value.is_array()) {
    std::vector<Value> elements(value.elements().begin(), value.elements().end());
    for (Value& element : elements) element = CopyWithin(arena, element, outer);
    return MakeArray(arena, elements, source);
  }
  std::vector<Member> members(value.members().begin(), value.members().end());
  for (Member& member : members) {
    member.name_data = arena.Copy(member.name()).data();
    member.value = CopyWithin(arena, member.value, outer);
  }
  return MakeObject(arena, members, source);
}

}  // namespace

Value CopyVerbatim(Arena& arena, Value value) { return CopyWithin(arena, value, {}); }

std::string Compact(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  while (!text.empty()) {
    const char c = text.front();
    std::size_t size = 1;
    if (!in_string) {
      in_string = c == '"';
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out += c;
    } else if (c == '\\') {
      size = text.size() < 2 ? 1 : 2;
      out += text.substr(0, size);
    } else if (const std::string_view escaped = Escape(text, size); !escaped.empty()) {
      out += escaped;
    } else {
      size = 1;
      in_string = c != '"';
      out += c;
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace portcullis::json
