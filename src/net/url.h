// Absolute URLs and query strings, parsed and printed as Go's net/url does where Kubernetes shows
// them to users. Value types; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Error texts are Go's: `parse "…": invalid URL escape "%zz"`.
base::Result<Url> ParseUrl(std::string_view text);
// The URL that `reference` (a Location header) means when seen at `base`. RFC 3986 §5.2.
base::Result<Url> ResolveReference(const Url& base, std::string_view reference);

// "host:port" with brackets around IPv6 addresses (Go's net.JoinHostPort), and back. Splitting has
// Go's error texts: "address x: missing port in address".
std::string JoinHostPort(std::string_view host, std::string_view port);
base::Result<std::pair<std::string, std::string>> SplitHostPort(std::string_view address);
// True for IPv4 and IPv6 literals.
bool IsIpAddress(std::string_view host);
bool IsLoopbackHost(std::string_view host);  // "localhost", 127.0.0.0/8, ::1

// Percent encoding; unescaping fails with Go's `invalid URL escape "%zz"`.
std::string QueryEscape(std::string_view text);
std::string PathEscape(std::string_view text);
base::Result<std::string> QueryUnescape(std::string_view text);
base::Result<std::string> PathUnescape(std::string_view text);
// "a=1&b=%20" in order, unescaped; pairs that cannot be unescaped are left out, as Go does.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);

}  // namespace portcullis::net
