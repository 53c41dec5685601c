#include "net/internal/uri_host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "base/gotext.h"
#include "base/strings.h"
#include "net/url.h"

namespace portcullis::net::internal {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool MayStandInHost(char c) {
  return IsAlphanumeric(c) || (c & 0x80) != 0 ||
         std::string_view("-_.~!$&'()*+,;=:[]<>\"").find(c) != std::string_view::npos;
}

// Escapes of a host may only be of bytes that are no ASCII, and of '%' itself.
base::Result<std::string> UnescapeHost(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && text[i + 1] < '8' && text.substr(i, 3) != "%25") {
      return base::BadRequest(
          base::StrCat("invalid URL escape ", base::GoQuote(text.substr(i, 3))));
    }
    if (text[i] != '%' && !MayStandInHost(text[i])) {
      return base::BadRequest(
          base::StrCat("invalid character ", base::GoQuote(text.substr(i, 1)), " in host name"));
    }
  }
  return PathUnescape(text);
}

base::Status CheckPort(std::string_view port) {
  const bool valid =
      port.empty() || (port[0] == ':' && std::all_of(port.begin() + 1, port.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; }));
  if (valid) return base::OkStatus();
  return base::BadRequest(base::StrCat("invalid port ", base::GoQuote(port), " after host"));
}

// The address between brackets, without its zone.
bool IsIpv6(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  const std::string text = address.substr(0, address.find('%'));
  return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

base::Result<std::string> ReadHost(std::string_view host) {
  const auto open = host.rfind('[');
  if (open == std::string_view::npos) {
    const auto colon = host.find(':');
    if (colon != std::string_view::npos) TRY(CheckPort(host.substr(colon)));
    return UnescapeHost(host);
  }
  if (open > 0) return base::BadRequest("invalid IP-literal");
  const auto close = host.rfind(']');
  if (close == std::string_view::npos) return base::BadRequest("missing ']' in host");
  TRY(CheckPort(host.substr(close + 1)));
  const std::string address = TRY(UnescapeHost(host.substr(1, close - 1)));
  if (!IsIpv6(address)) {
    return base::BadRequest(
        base::StrCat("invalid host: ParseAddr(", base::GoQuote(address), "): unable to parse IP"));
  }
  return base::StrCat("[", address, "]", host.substr(close + 1));
}

base::Status CheckUser(std::string_view user) {
  for (const char c : user) {
    if (!IsAlphanumeric(c) &&
        std::string_view("-._:~!$&'()*+,;=%@").find(c) == std::string_view::npos) {
      return base::BadRequest("net/url: invalid userinfo");
    }
  }
  return PathUnescape(user).status();
}

base::Result<std::string> ReadAuthority(std::string_view authority) {
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) return ReadHost(authority);
  std::string host = TRY(ReadHost(authority.substr(at + 1)));
  TRY(CheckUser(authority.substr(0, at)));
  return host;
}

// "https" of "https://a", "" if there is no scheme; `uri` moves past it.
base::Result<std::string_view> TakeScheme(std::string_view& uri) {
  const auto end =
      uri.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
  if (end == std::string_view::npos || uri[end] != ':') return std::string_view();
  if (end == 0) return base::BadRequest("missing protocol scheme");
  if (!IsAlphanumeric(uri[0]) || (uri[0] >= '0' && uri[0] <= '9')) return std::string_view();
  const std::string_view scheme = uri.substr(0, end);
  uri.remove_prefix(end + 1);
  return scheme;
}

base::Result<std::string> Parse(std::string_view uri) {
  if (std::any_of(uri.begin(), uri.end(),
                  [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; })) {
    return base::BadRequest("net/url: invalid control character in URL");
  }
  if (uri == "*") return std::string();
  const std::string_view scheme = TRY(TakeScheme(uri));
  std::string_view rest = uri.substr(0, uri.find('?'));
  if (!rest.starts_with('/')) {
    if (!scheme.empty()) return std::string();
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos) {
      return base::BadRequest("first path segment in URL cannot contain colon");
    }
  }
  std::string host;
  if (rest.starts_with("//") && (!scheme.empty() || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    const auto slash = std::min(rest.find('/'), rest.size());
    host = TRY(ReadAuthority(rest.substr(0, slash)));
    rest.remove_prefix(slash);
  }
  TRY(PathUnescape(rest));
  return host;
}

}  // namespace

base::Result<std::string> HostOfUri(std::string_view uri) {
  const auto hash = std::min(uri.find('#'), uri.size());
  auto host = Parse(uri.substr(0, hash));
  if (!host.ok()) {
    return base::BadRequest(
        base::StrCat("parse ", base::GoQuote(uri.substr(0, hash)), ": ", host.status().message()));
  }
  if (hash == uri.size()) return host;
  if (auto fragment = PathUnescape(uri.substr(hash + 1)); !fragment.ok()) {
    return base::BadRequest(
        base::StrCat("parse ", base::GoQuote(uri), ": ", fragment.status().message()));
  }
  return host;
}

}  // namespace portcullis::net::internal
