// SPDX-License-Identifier: Apache-2.0

// Any text: reading its PEM blocks ends, moves on with each block, and makes none longer than its text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pki/pem.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  portcullis::pki::PemBlock block;
  std::size_t before = rest.size();
  while (portcullis::pki::NextPemBlock(rest, block)) {
    if (rest.size() + block.type.size() + block.bytes.size() >= before) std::abort();
    before = rest.size();
  }
  return 0;
}
