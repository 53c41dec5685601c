// SPDX-License-Identifier: Apache-2.0

#include "base/digest.h"

#include <openssl/sha.h>

#include "base/strings.h"

namespace portcullis::base {
namespace {

template <std::size_t kSize>
std::string HexOf(unsigned char* (*digest)(const unsigned char*, std::size_t, unsigned char*),
                  std::string_view bytes) {
  std::string out(kSize, '\0');
  digest(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         reinterpret_cast<unsigned char*>(out.data()));
  return HexEncode(out);
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) { return HexOf<SHA256_DIGEST_LENGTH>(SHA256, bytes); }
std::string Sha512Hex(std::string_view bytes) { return HexOf<SHA512_DIGEST_LENGTH>(SHA512, bytes); }

}  // namespace portcullis::base
