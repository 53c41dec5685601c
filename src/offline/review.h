// SPDX-License-Identifier: Apache-2.0

// AdmissionReview documents (admission.k8s.io/v1, v1beta1) among the inputs: requests that were sent to
// a webhook or taken from a log, judged anew.
#pragma once

#include <string>

#include "api/names.h"
#include "api/user_info.h"
#include "json/value.h"
#include "offline/inputs.h"

namespace portcullis::offline {

struct Review {
  std::string operation;  // "CREATE", "UPDATE", "DELETE", "CONNECT"
  api::GroupVersionResource resource;
  std::string subresource;
  std::string ns;
  std::string name;
  json::Value object;
  json::Value old_object;
  api::UserInfo user;
  Manifest manifest;  // the object (of a deletion the old one) with its place in the document
};

bool IsReview(const Manifest& manifest);
// REQUIRES: IsReview(). What a review does not say is empty.
Review ReadReview(const Manifest& manifest);

}  // namespace portcullis::offline
