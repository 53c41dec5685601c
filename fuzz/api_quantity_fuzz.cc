// SPDX-License-Identifier: Apache-2.0

// Any text: parsing never crashes; what parses prints as a text that parses to an equal amount, and
// arithmetic with itself is consistent.
#include <cstdlib>

#include "api/quantity.h"

namespace api = portcullis::api;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size > 64) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = api::Quantity::Parse(text);
  if (!quantity.ok()) {
    if (quantity.status().message().empty()) std::abort();
    return 0;
  }
  const std::string printed = quantity->ToString();
  const auto again = api::Quantity::Parse(printed);
  if (!again.ok()) std::abort();
  api::Quantity difference = *quantity;
  difference.Sub(*quantity);
  if (!difference.is_zero()) std::abort();
  api::Quantity negated = *quantity;
  negated.Negate();
  if (negated.Sign() != -quantity->Sign()) std::abort();
  (void)quantity->Value();
  (void)quantity->MilliValue();
  (void)quantity->AsDouble();
  (void)quantity->RoundedToMilli().ToString();
  return 0;
}
