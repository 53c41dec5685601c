// SPDX-License-Identifier: Apache-2.0

// How tests write data items.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::cbor::testing {

// Bytes of hexadecimal digits; other characters are left out.
inline std::string Bytes(std::string_view hex) {
  std::string bytes;
  int high = -1;
  for (const char c : hex) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) continue;
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      bytes += static_cast<char>(high << 4 | static_cast<int>(digit));
      high = -1;
    }
  }
  return bytes;
}

}  // namespace portcullis::cbor::testing
