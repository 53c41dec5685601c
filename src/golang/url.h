// SPDX-License-Identifier: Apache-2.0

// URLs as Go's net/url parses, prints and resolves them: the only URL grammar of the program,
// because Kubernetes shows the parts and the errors to users. Value types; pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::golang {

struct UserInfo {
  std::string name;
  std::optional<std::string> password;
  std::string ToString() const;  // escaped: "name:password"
  bool operator==(const UserInfo&) const = default;
};

struct Url {
  std::string scheme;  // lower case
  std::string opaque;  // "a@b" of "mailto:a@b"
  std::optional<UserInfo> user;
  std::string host;      // unescaped, with port, IPv6 in brackets
  std::string path;      // unescaped
  std::string raw_path;  // as written, if Go would write it differently; else ""
  std::string raw_query;
  bool force_query = false;  // "?" without a query
  std::string fragment;      // unescaped
  std::string raw_fragment;  // as raw_path
  bool omit_host = false;    // "scheme:/path"

  std::string EscapedPath() const;
  std::string EscapedFragment() const;
  std::string_view Hostname() const;  // without port and brackets
  std::string_view Port() const;      // "" if none was written
  std::string ToString() const;
  bool operator==(const Url&) const = default;
};

// url.Parse. Errors: `parse "https://[::1": missing ']' in host`.
base::Result<Url> ParseUrl(std::string_view text);
// url.ParseRequestURI: an absolute URI or path; a fragment is part of path or query.
base::Result<Url> ParseRequestUri(std::string_view text);
// URL.ResolveReference: what `reference` means when seen at `base` (RFC 3986 §5.2).
Url ResolveReference(const Url& base, const Url& reference);

// url.QueryEscape and so on. Unescaping fails with `invalid URL escape "%zz"`.
std::string QueryEscape(std::string_view text);
std::string PathEscape(std::string_view text);
// The path of a URL, "/" between its segments: URL.EscapedPath of an unescaped path.
std::string EscapePath(std::string_view path);
base::Result<std::string> QueryUnescape(std::string_view text);
base::Result<std::string> PathUnescape(std::string_view text);

// url.Values: "a=1&b=%20" in order, unescaped. As Go does, pairs that cannot be unescaped are left
// out, and all of them if there are more than 10,000.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);

}  // namespace portcullis::golang
