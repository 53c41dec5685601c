// SPDX-License-Identifier: Apache-2.0

// Random programs: what the bytes choose is an expression that is mostly well typed; a program and
// the reference interpreter agree on value, error and cost, and a limit on the cost always ends an
// evaluation.
#include "cel/testing/generator.h"
#include "cel_agreement.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static portcullis::fuzz::Agreement folded(/*fold=*/true);
  static portcullis::fuzz::Agreement unfolded(/*fold=*/false);
  const std::string text = portcullis::cel::testing::GenerateExpression({data, size});
  folded.Check(text);
  unfolded.Check(text);
  return 0;
}
