// Request URIs as Go's net/url parses them (url.ParseRequestURI): an absolute URI or an absolute
// path. Texts are Go's.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::kube_cel {

struct RequestUri {
  std::string scheme;  // lower case
  std::string host;    // with port, IPv6 in brackets
  std::string path;    // decoded
  std::string escaped_path;
  std::string query;  // as written
  std::string text;   // the whole, with the scheme in lower case

  bool operator==(const RequestUri& other) const { return text == other.text; }
  // Without port and brackets.
  std::string_view Hostname() const;
  std::string_view Port() const;
  // Decoded; pairs that cannot be decoded are left out.
  std::vector<std::pair<std::string, std::string>> Query() const;
};

// The error is `parse "x": invalid URI for request` and the like.
base::Result<RequestUri> ParseRequestUri(std::string_view text);
// The same as url() has it: what ParseRequestUri() accepts, with the fragment (`#…`) left out of
// path and query, and the host of `//host/path` taken for one.
base::Result<RequestUri> ParseUrl(std::string_view text);

}  // namespace portcullis::kube_cel
