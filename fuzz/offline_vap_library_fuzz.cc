// SPDX-License-Identifier: Apache-2.0

#include "offline_suites.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  portcullis::fuzz::ReadAsSuites("policy_test.go", data, size);
  return 0;
}
