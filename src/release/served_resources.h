// SPDX-License-Identifier: Apache-2.0

// Which releases serve a resource (data/served.resources).
#pragma once

#include <map>
#include <string_view>

namespace portcullis::release {

struct ServedResource {
  int since_minor = 0;
  int until_minor = 0;    // 0: no release has dropped it
  std::string_view gate;  // without which it is not served; "" if there is none
};

// By "group/version/resource". Those that are missing are served by every release since v1.29.
std::map<std::string_view, ServedResource> ServedResources();

// The version in which a server that emulates v1.<minor> stores what v1.36 stores in `version`: one that
// the release before it had, so that both read it (kube-apiserver's --min-compatibility-version, of which
// 1.33 is the oldest). "" where that is the same.
std::string_view EmulatedStorageVersion(const std::map<std::string_view, ServedResource>& resources,
                                        std::string_view group, std::string_view version,
                                        std::string_view resource, int minor);

}  // namespace portcullis::release
