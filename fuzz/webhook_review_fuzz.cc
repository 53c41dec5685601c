// SPDX-License-Identifier: Apache-2.0

// What a webhook answers: decoding, verification and translation of any bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"
#include "kubeconfig/rest.h"
#include "webhook/review.h"
#include "webhook/review_v1alpha1.h"

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
    for (const bool keeps : {false, true}) {
      const portcullis::webhook::Dialect dialect{.keeps_denial_codes = keeps};
      (void)portcullis::webhook::DenialStatus("a.b.c", answer->status, dialect);
    }
  }
}

// The same of an external admission hook.
void TryV1alpha1(std::string_view body) {
  portcullis::json::Arena arena;
  const auto answer =
      portcullis::webhook::DecodeReviewV1alpha1(arena, 200, "application/json", body);
  if (answer.ok() && !answer->allowed) {
    (void)portcullis::webhook::DenialStatusV1alpha1("a.b.c", answer->status);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  TryAs(body, ReviewVersion::kV1, HookType::kMutating);
  TryAs(body, ReviewVersion::kV1, HookType::kValidating);
  TryAs(body, ReviewVersion::kV1beta1, HookType::kMutating);
  TryV1alpha1(body);
  (void)portcullis::kubeconfig::ErrorOfAnswer(500, "", body, std::nullopt);
  return 0;
}
