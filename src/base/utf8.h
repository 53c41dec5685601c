// SPDX-License-Identifier: Apache-2.0

// Texts in UTF-8 that must not become longer than some number of bytes. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace portcullis::base {

// The first `most` bytes of a valid text, or fewer where they would end within a character.
constexpr std::string_view CutUtf8(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace portcullis::base
