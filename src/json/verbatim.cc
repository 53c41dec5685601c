// SPDX-License-Identifier: Apache-2.0

#include "json/verbatim.h"

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

}  // namespace

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
