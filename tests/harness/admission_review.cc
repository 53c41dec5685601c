// SPDX-License-Identifier: Apache-2.0

#include "harness/admission_review.h"

#include "base/strings.h"

namespace portcullis::testing {

net::Response Allow(json::Value review) {
  net::Response response;
  response.headers.Set("Content-Type", "application/json");
  response.body = base::StrCat(
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")",
      review["request"]["uid"].AsString(), R"(","allowed":true}})");
  return response;
}

}  // namespace portcullis::testing
