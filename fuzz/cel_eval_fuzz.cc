// SPDX-License-Identifier: Apache-2.0

// Any text as an expression: where it compiles, the program and the reference interpreter agree.
#include "cel_agreement.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static portcullis::fuzz::Agreement agreement(/*fold=*/true);
  agreement.Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
