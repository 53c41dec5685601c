// SPDX-License-Identifier: Apache-2.0

// The URLs that a client can call: those of golang/url.h in the parts that a connection and a request
// line need. Value types; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::net {

// An absolute http or https URL in its parts, or that of a proxy. Escapes stay as written.
struct Url {
  std::string scheme;    // lower case
  std::string userinfo;  // as written, without '@'
  std::string host;      // without port, without the brackets of an IPv6 address
  std::string port;      // "" if none was written
  std::string path;      // as written, may be ""
  std::string query;     // without '?'
  std::string fragment;  // without '#'

  // The port as a number: the written one, else 443, 80 or (SOCKS) 1080.
  int EffectivePort() const;
  // host or host:port as written, IPv6 in brackets: what goes into the Host header.
  std::string Authority() const;
  // "host:port" to connect to, with the port always there.
  std::string HostPort() const;
  // path?query, "/" for an empty path: what goes into the request line.
  std::string Target() const;
  std::string ToString() const;
};

// Errors are Go's: `parse "…": invalid URL escape "%zz"`, `unsupported protocol scheme ""`.
base::Result<Url> ParseUrl(std::string_view text);
// The URL that `reference` (a Location header) means when seen at `base`. RFC 3986 §5.2.
base::Result<Url> ResolveReference(const Url& base, std::string_view reference);

bool IsLoopbackHost(std::string_view host);  // "localhost", 127.0.0.0/8, ::1

}  // namespace portcullis::net
