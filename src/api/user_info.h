// SPDX-License-Identifier: Apache-2.0

// Who makes a request, as authentication found out (authentication.k8s.io/v1 UserInfo). Value type.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::api {

struct UserInfo {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool operator==(const UserInfo&) const = default;
  bool InGroup(std::string_view group) const;
};

inline constexpr std::string_view kUserAnonymous = "system:anonymous";
inline constexpr std::string_view kGroupUnauthenticated = "system:unauthenticated";
inline constexpr std::string_view kGroupAuthenticated = "system:authenticated";
inline constexpr std::string_view kGroupMasters = "system:masters";

// {"username", "uid", "groups", "extra"} without empty members, as in AdmissionReview and audit.
json::Value UserInfoToJson(json::Arena& arena, const UserInfo& user);
UserInfo UserInfoFromJson(json::Value value);

}  // namespace portcullis::api
