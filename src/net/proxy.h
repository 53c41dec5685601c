// SPDX-License-Identifier: Apache-2.0

// Which proxy a URL is reached through, by the three settings that most programs take from their
// environment, with the rules of Go's http.ProxyFromEnvironment: loopback addresses and localhost
// are always reached directly, NO_PROXY lists hosts, domains, addresses and networks, each perhaps
// with a port.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/url.h"

namespace portcullis::net {

// The values of HTTPS_PROXY and NO_PROXY. HTTP_PROXY has no place here: what is called is https.
// The proxy itself is reached by http:// (the default), https://, socks5:// or socks5h://, and
// names are its to resolve.
struct ProxySettings {
  std::string https_proxy;
  std::string no_proxy;
};

// Immutable after construction.
class ProxyRules {
 public:
  // A proxy's address that cannot be understood counts as none.
  explicit ProxyRules(const ProxySettings& settings);

  // Rules that send every https URL to `proxy`, also those of loopback addresses (Go's
  // http.ProxyURL).
  static std::shared_ptr<const ProxyRules> Always(Url proxy);

  // The proxy for an https URL; none: it is reached directly.
  std::optional<Url> For(const Url& url) const;

 private:
  struct Exception {
    std::string domain;   // ".example.com"
    bool itself = false;  // example.com too, not only what is below it
    std::string network;  // bytes of an address, 4 or 16
    int prefix = 0;       // bits of it that count
    std::string port;     // "" for any
  };
  ProxyRules() = default;
  void AddException(std::string_view text);
  bool IsException(const Url& url) const;

  std::optional<Url> proxy_;
  bool nothing_ = false;     // NO_PROXY=*
  bool everything_ = false;  // Always
  std::vector<Exception> exceptions_;
};

}  // namespace portcullis::net
