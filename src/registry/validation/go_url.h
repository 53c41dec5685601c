// Any text taken apart as Go's url.Parse does it, because validation shows the parts and Go's
// errors. Unlike net::ParseUrl this also accepts relative and opaque URLs. Pure function.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::registry {

struct GoUrl {
  std::string scheme;  // lower case, may be ""
  std::string host;    // with port, as written
  bool has_user = false;
  std::string user;  // "name" or "name:password"
  std::string query;
  std::string fragment;
};

// Error: Go's text, `parse "https://[::1": missing ']' in host`.
base::Result<GoUrl> ParseGoUrl(std::string_view text);

}  // namespace portcullis::registry
