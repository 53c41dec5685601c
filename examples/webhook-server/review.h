// SPDX-License-Identifier: Apache-2.0

// What the example webhook answers: pure functions from a review to a review.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace example {

// The answer to the AdmissionReview `body` (admission.k8s.io/v1 or v1beta1), decided by the path it
// was sent to; see README.md for the paths. One of v1alpha1 is answered at "/". `query` is the part of the URL after '?'. An unknown
// path or a body that is no AdmissionReview is an error.
portcullis::base::Result<std::string> Answer(std::string_view path, std::string_view query,
                                             std::string_view body);

// How long to wait before answering: ?seconds=N with any path, or /delay/N.
double DelaySeconds(std::string_view path, std::string_view query);

}  // namespace example
