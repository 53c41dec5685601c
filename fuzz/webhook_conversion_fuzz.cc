// SPDX-License-Identifier: Apache-2.0

// What a conversion webhook answers: decoding of any bytes, and checking what they claim to have
// converted.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json/reader.h"
#include "webhook/conversion_review.h"

namespace {

using portcullis::webhook::ConversionFailure;
using portcullis::webhook::ReviewVersion;

void TryAs(std::string_view body, ReviewVersion version) {
  portcullis::json::Arena arena;
  const auto objects = portcullis::webhook::DecodeConversionReview(arena, version, "u-1", 200,
                                                                   "application/json", body);
  if (!objects.ok()) return;
  const auto original = portcullis::json::Parse(
      arena, R"({"apiVersion":"e.io/v1","kind":"A","metadata":{"name":"a","namespace":"n",
                 "uid":"u","labels":{"x":"y"}},"spec":{"b":1}})");
  const std::vector<portcullis::json::Value> originals(objects->size(), *original);
  ConversionFailure failure = ConversionFailure::kNone;
  (void)portcullis::webhook::CheckConverted(arena, originals, *objects, {"e.io", "v2"}, failure);
  (void)portcullis::webhook::ConversionFailureText(failure);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  TryAs(body, ReviewVersion::kV1);
  TryAs(body, ReviewVersion::kV1beta1);
  return 0;
}
