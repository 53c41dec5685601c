// UTF-8 as Go decodes it: overlong forms, surrogates and code points above U+10FFFF are invalid,
// and each invalid byte counts as one U+FFFD.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace portcullis::json {

struct Rune {
  char32_t code = 0xFFFD;
  std::size_t size = 1;  // bytes read
  bool valid = false;
};

// The first code point. REQUIRES: text is not empty.
Rune DecodeRune(std::string_view text);
void AppendRune(char32_t code, std::string& out);  // surrogates and the like become U+FFFD
bool IsValidUtf8(std::string_view text);
// Appends `text`, each invalid byte replaced by U+FFFD.
void AppendValidUtf8(std::string_view text, std::string& out);

}  // namespace portcullis::json
