// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/endpoint.h"

#include "base/gotext.h"
#include "base/strings.h"
#include "net/url.h"

namespace portcullis::etcd::internal {

base::Result<Endpoint> ParseEndpoint(std::string_view text, bool tls_by_default) {
  const auto refused = [&](std::string_view why) {
    return base::ConfigError(base::StrCat("etcd endpoint ", base::GoQuote(text), ": ", why,
                                          "; expected https://host:port, http://host:port or "
                                          "host:port"));
  };
  const bool has_scheme = text.find("://") != std::string_view::npos;
  const auto url = net::ParseUrl(
      has_scheme ? std::string(text) : base::StrCat(tls_by_default ? "https://" : "http://", text));
  if (!url.ok()) return refused(url.status().message());
  if (url->scheme != "http" && url->scheme != "https") {
    return refused(base::StrCat("scheme ", base::GoQuote(url->scheme), " is not supported"));
  }
  if (url->host.empty()) return refused("there is no host");
  if (!url->userinfo.empty()) return refused("a user name has no place in it");
  if ((!url->path.empty() && url->path != "/") || !url->query.empty() || !url->fragment.empty()) {
    return refused("there is more behind the port");
  }
  return Endpoint{.text = std::string(text),
                  .host_port = url->HostPort(),
                  .host = url->host,
                  .tls = url->scheme == "https"};
}

}  // namespace portcullis::etcd::internal
