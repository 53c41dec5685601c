// SPDX-License-Identifier: Apache-2.0

// Review: one request to the API, as AdmissionReview documents (admission.k8s.io/v1, v1beta1) and test
// files name it: an operation, the object, and what is stored before it.
#pragma once

#include <optional>
#include <string>

#include "api/names.h"
#include "api/user_info.h"
#include "engine/options.h"
#include "json/value.h"
#include "offline/inputs.h"

namespace portcullis::offline {

struct Review {
  std::string operation;  // "CREATE", "UPDATE", "PATCH", "APPLY", "DELETE", "CONNECT"
  api::GroupVersionResource resource;
  std::string subresource;
  std::string ns;
  std::string name;
  json::Value object;      // of a create, an update, an apply; of a connect the stored object
  json::Value old_object;  // what is stored before; null: nothing is
  json::Value patch;       // of a PATCH
  engine::PatchType patch_type = engine::PatchType::kMerge;
  json::Value options;        // of a CONNECT: PodExecOptions, …
  std::string field_manager;  // "": the one of the flags
  bool force = false;         // of an APPLY: take fields from other managers
  api::UserInfo user;
  Manifest manifest;  // the object (of a deletion the old one) with its place in the document
};

bool IsReview(const Manifest& manifest);
// REQUIRES: IsReview(). What a review does not say is empty.
Review ReadReview(const Manifest& manifest);

// username, groups, uid, extra of authentication.k8s.io/v1 UserInfo.
api::UserInfo ReadUserInfo(json::Value value);

}  // namespace portcullis::offline
