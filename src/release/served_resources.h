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

}  // namespace portcullis::release
