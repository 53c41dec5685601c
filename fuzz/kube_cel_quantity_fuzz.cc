// SPDX-License-Identifier: Apache-2.0

// Any text as a quantity, through the functions of CEL: what isQuantity() accepts can be made, and
// arithmetic and order agree with each other.
#include "kube_cel_text.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const portcullis::fuzz::TextExpression kLaws(
      "!isQuantity(object) || ["
      "quantity(object) == quantity(object), "
      "quantity(object).compareTo(quantity(object)) == 0, "
      "quantity(object).add(quantity(object)).compareTo(quantity(object)) == "
      "sign(quantity(object)), "
      "sign(quantity(object).sub(quantity(object))) == 0, "
      // Amounts that are further apart are not told apart.
      "quantity(object).compareTo(quantity('1e4000')) > 0 || "
      "quantity(object).compareTo(quantity('-1e4000')) < 0 || "
      "(quantity(object).add(1).isGreaterThan(quantity(object)) && "
      "quantity(object).sub(1).isLessThan(quantity(object))), "
      "quantity(object).isInteger() ? quantity(object).asInteger() == quantity(object).asInteger() "
      ": true, "
      "sign(quantity(object)) == 0 || quantity(object).asApproximateFloat() != 0.0 || "
      "quantity(object).isLessThan(quantity('1'))"
      "].all(x, x)");
  static const portcullis::fuzz::TextExpression kReads(
      "quantity(object).isInteger() || !quantity(object).isInteger()");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  kLaws.Check(text);
  kReads.Check(text, /*may_fail=*/true);
  return 0;
}
