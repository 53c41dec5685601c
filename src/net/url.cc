// SPDX-License-Identifier: Apache-2.0

#include "net/url.h"

#include "base/strings.h"
#include "golang/netip.h"
#include "golang/url.h"

namespace portcullis::net {
namespace {

base::Result<Url> FromGo(const golang::Url& parsed) {
  if (parsed.scheme.empty()) return base::BadRequest("unsupported protocol scheme \"\"");
  Url url;
  url.scheme = parsed.scheme;
  if (parsed.user) url.userinfo = parsed.user->ToString();
  url.host = parsed.Hostname();
  url.port = parsed.Port();
  url.path = parsed.EscapedPath();
  url.query = parsed.raw_query;
  url.fragment = parsed.EscapedFragment();
  return url;
}

}  // namespace

int Url::EffectivePort() const {
  if (!port.empty()) return static_cast<int>(base::ParseInt(port).value_or(0));
  if (scheme.starts_with("socks5")) return 1080;
  return scheme == "http" ? 80 : 443;
}

std::string Url::Authority() const {
  const bool brackets = host.find(':') != std::string::npos;
  std::string text = brackets ? base::StrCat("[", host, "]") : host;
  if (!port.empty()) text += base::StrCat(":", port);
  return text;
}

std::string Url::HostPort() const {
  return golang::JoinHostPort(host, std::to_string(EffectivePort()));
}

std::string Url::Target() const {
  std::string text = path.empty() ? "/" : path;
  if (!query.empty()) text += base::StrCat("?", query);
  return text;
}

std::string Url::ToString() const {
  std::string text = base::StrCat(scheme, "://");
  if (!userinfo.empty()) text += base::StrCat(userinfo, "@");
  text += base::StrCat(Authority(), path);
  if (!query.empty()) text += base::StrCat("?", query);
  if (!fragment.empty()) text += base::StrCat("#", fragment);
  return text;
}

base::Result<Url> ParseUrl(std::string_view text) { return FromGo(TRY(golang::ParseUrl(text))); }

base::Result<Url> ResolveReference(const Url& base, std::string_view reference) {
  const golang::Url from = TRY(golang::ParseUrl(base.ToString()));
  return FromGo(golang::ResolveReference(from, TRY(golang::ParseUrl(reference))));
}

bool IsLoopbackHost(std::string_view host) {
  if (base::EqualsIgnoreCase(host, "localhost")) return true;
  const auto address = golang::ParseIp(host);
  return address && address->Unmap().IsLoopback();
}

}  // namespace portcullis::net
