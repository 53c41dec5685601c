// SPDX-License-Identifier: Apache-2.0

// AdmissionReview of admission.k8s.io/v1alpha1 (Kubernetes 1.7 and 1.8, docs/legacy.md): what
// external admission hooks are sent, and what they answer. The request stands in `spec`, the answer
// in `status`; there is no uid, and nothing but the verdict comes back.
//
// Pure functions. Error texts are kube-apiserver's.
#pragma once

#include <string>
#include <string_view>

#include "admission/request.h"
#include "base/status.h"
#include "json/value.h"
#include "webhook/review.h"

namespace portcullis::webhook {

// The body. The object is in its versioned form, not as the internal struct that 1.7 and 1.8 sent.
// `hides_new_names`: a new object has no name, as in those releases.
std::string EncodeReviewV1alpha1(const admission::Request& request, bool hides_new_names = false);

// The body of an answer with status 200 to 206. The error is the cause of a call error. An answer
// without a verdict is a denial.
base::Result<ReviewAnswer> DecodeReviewV1alpha1(json::Arena& arena, int http_status,
                                                std::string_view content_type,
                                                std::string_view body);

// What a denial is answered with: the hook's Status as it is, code 500 unless it says another.
base::Status DenialStatusV1alpha1(std::string_view hook, json::Value status);

}  // namespace portcullis::webhook
