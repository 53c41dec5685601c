// SPDX-License-Identifier: Apache-2.0

// Any bytes: parsing never crashes; what parses prints, reads back, and prints the same.
#include <cstdlib>
#include <memory>

#include "cel/environment.h"
#include "cel/syntax/ast.h"
#include "cel/syntax/parser.h"
#include "cel/syntax/unparser.h"

namespace cel = portcullis::cel;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Without macros the printed form is the same expression.
  const cel::ParseOptions options = {.quoted_fields = true};
  cel::Issues issues;
  const auto ast = cel::Parse(text, options, issues);
  if (!ast) return 0;
  const std::string printed = cel::Unparse(*ast->root());
  cel::Issues again_issues;
  const auto again = cel::Parse(printed, options, again_issues);
  // Parentheses may make it deeper than the limit; nothing else may go wrong.
  if (!again) {
    if (again_issues.ToString().find("depth") == std::string::npos &&
        again_issues.ToString().find("limit") == std::string::npos) {
      std::abort();
    }
    return 0;
  }
  if (cel::Unparse(*again->root()) != printed) std::abort();
  return 0;
}
