// SPDX-License-Identifier: Apache-2.0

// What a webhook answers: decoding, verification and translation of any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"
#include "kubeconfig/rest.h"
#include "webhook/review.h"

namespace {

using portcullis::webhook::HookType;
using portcullis::webhook::ReviewVersion;

void TryAs(std::string_view body, ReviewVersion version, HookType type) {
  portcullis::json::Arena arena;
  const auto review =
      portcullis::webhook::DecodeReview(arena, version, 200, "application/json", body);
  if (!review.ok()) return;
  const auto answer = portcullis::webhook::VerifyReview(*review, version, type, "u-1");
  if (!answer.ok()) return;
  if (!answer->allowed) {
    (void)portcullis::webhook::DenialStatus("a.b.c", answer->status);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  TryAs(body, ReviewVersion::kV1, HookType::kMutating);
  TryAs(body, ReviewVersion::kV1, HookType::kValidating);
  TryAs(body, ReviewVersion::kV1beta1, HookType::kMutating);
  (void)portcullis::kubeconfig::ErrorOfAnswer(500, "", body, std::nullopt);
  return 0;
}
