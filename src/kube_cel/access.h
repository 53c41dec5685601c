// SPDX-License-Identifier: Apache-2.0

// What expressions ask about permissions, and who answers. kube_cel knows no authorizer: the
// caller that evaluates expressions hands in an AccessChecker.
#pragma once

#include <string>
#include <string_view>

#include "api/user_info.h"
#include "cel/value.h"

namespace portcullis::kube_cel {

struct AccessQuestion {
  const api::UserInfo* user = nullptr;
  std::string verb;
  bool resource_request = true;
  std::string path;  // of a request that is about no resource
  std::string group;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string field_selector;
  std::string label_selector;
};

struct AccessAnswer {
  bool allowed = false;
  std::string reason;
  std::string error;
};

// Confined to one request. The answer lives as long as the checker.
class AccessChecker {
 public:
  virtual ~AccessChecker() = default;
  virtual const AccessAnswer& Check(const AccessQuestion& question) = 0;
};

// The variable `authorizer`. `checker` and `user` outlive the value.
cel::Value MakeAuthorizer(json::Arena& arena, AccessChecker& checker, const api::UserInfo& user);
// The variable `authorizer.requestResource`: a check of the request's own resource.
cel::Value MakeResourceCheck(json::Arena& arena, AccessChecker& checker, AccessQuestion question);

}  // namespace portcullis::kube_cel
