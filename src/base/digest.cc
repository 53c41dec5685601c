// SPDX-License-Identifier: Apache-2.0

#include "base/digest.h"

#include <openssl/sha.h>

#include <array>

namespace portcullis::base {

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace portcullis::base
