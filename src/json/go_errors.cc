// SPDX-License-Identifier: Apache-2.0

#include "json/go_errors.h"

#include "base/gotext.h"

namespace portcullis::json {
namespace {

void AppendHex(unsigned code, int digits, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xF];
}

void AppendQuoted(unsigned char c, std::string& out) {
  constexpr std::string_view kControls = "\a\b\f\n\r\t\v";
  constexpr std::string_view kNames = "abfnrtv";
  const std::size_t control = kControls.find(static_cast<char>(c));
  if (control != std::string_view::npos) {
    out += '\\';
    out += kNames[control];
  } else if (c == '\'' || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (c < 0x20 || c == 0x7F) {
    out += "\\x";
    AppendHex(c, 2, out);
  } else if ((c >= 0x80 && c <= 0xA0) || c == 0xAD) {
    out += "\\u";
    AppendHex(c, 4, out);
  } else {
    base::AppendRune(c, out);
  }
}

}  // namespace

std::string InvalidCharacter(char c, std::string_view context) {
  std::string text = "invalid character '";
  AppendQuoted(static_cast<unsigned char>(c), text);
  text += "' ";
  text += context;
  return text;
}

std::string_view GoTypeName(const Value& value) {
  switch (value.type()) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "bool";
    case Type::kInt:
    case Type::kDouble:
      return "number";
    case Type::kString:
      return "string";
    case Type::kArray:
      return "array";
    case Type::kObject:
      return "object";
  }
  return "";
}

}  // namespace portcullis::json
