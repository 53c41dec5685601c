// SPDX-License-Identifier: Apache-2.0

#include "golang/strings.h"

#include <algorithm>
#include <cstddef>

#include "base/gotext.h"

namespace portcullis::golang {
namespace {

constexpr std::size_t kLongestRune = 4;

// The last rune of a text that is not empty, as utf8.DecodeLastRuneInString has it.
char32_t DecodeLastRune(std::string_view text, std::size_t& size) {
  for (std::size_t length = std::min(kLongestRune, text.size()); length > 1; --length) {
    const char32_t rune = base::DecodeRune(text.substr(text.size() - length), size);
    if (size == length) return rune;
  }
  size = 1;
  return base::DecodeRune(text.substr(text.size() - 1), size);
}

}  // namespace

bool IsSpace(char32_t rune) {
  switch (rune) {
    case 0x20:
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
      return true;
    default:
      return (rune >= 0x9 && rune <= 0xD) || (rune >= 0x2000 && rune <= 0x200A);
  }
}

std::string_view TrimSpace(std::string_view text) {
  std::size_t size = 0;
  while (!text.empty() && IsSpace(base::DecodeRune(text, size))) text.remove_prefix(size);
  while (!text.empty() && IsSpace(DecodeLastRune(text, size))) text.remove_suffix(size);
  return text;
}

}  // namespace portcullis::golang
