// SPDX-License-Identifier: Apache-2.0

#include "net/proxy.h"

#include <algorithm>

#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::net {
namespace {

// The bytes of an address, "" if the text is none. IPv4 in IPv6 counts as IPv4.
std::string AddressBytes(std::string_view text) {
  const auto address = golang::ParseIp(text);
  if (!address) return "";
  const golang::IpAddress plain = address->Unmap();
  return {plain.bytes.begin(), plain.bytes.begin() + plain.bits() / 8};
}

bool SameNetwork(std::string_view address, std::string_view network, int prefix) {
  if (address.size() != network.size()) return false;
  const auto whole = static_cast<std::size_t>(prefix / 8);
  if (address.substr(0, whole) != network.substr(0, whole)) return false;
  const int rest = prefix % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<unsigned char>(0xff << (8 - rest));
  return (static_cast<unsigned char>(address[whole]) & mask) ==
         (static_cast<unsigned char>(network[whole]) & mask);
}

std::optional<Url> ParseProxy(const std::string& text) {
  if (text.empty()) return std::nullopt;
  auto url = ParseUrl(text);
  if (!url.ok() || url->scheme.empty() || url->host.empty()) url = ParseUrl("http://" + text);
  if (!url.ok() || url->host.empty()) return std::nullopt;
  return std::move(url).value();
}

}  // namespace

ProxyRules::ProxyRules(const ProxySettings& settings) : proxy_(ParseProxy(settings.https_proxy)) {
  for (const std::string_view piece : base::Split(settings.no_proxy, ',')) {
    const std::string text = base::ToLower(base::Trim(piece));
    if (text == "*") nothing_ = true;
    if (!text.empty()) AddException(text);
  }
}

std::shared_ptr<const ProxyRules> ProxyRules::Always(Url proxy) {
  std::shared_ptr<ProxyRules> rules(new ProxyRules);
  rules->proxy_ = std::move(proxy);
  rules->everything_ = true;
  return rules;
}

void ProxyRules::AddException(std::string_view text) {
  Exception exception;
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    exception.network = AddressBytes(text.substr(0, slash));
    const auto bits = base::ParseInt(text.substr(slash + 1));
    if (!exception.network.empty() && bits && *bits >= 0 &&
        *bits <= static_cast<std::int64_t>(exception.network.size()) * 8) {
      exception.prefix = static_cast<int>(*bits);
      exceptions_.push_back(std::move(exception));
      return;
    }
    exception = {};
  }
  std::string host(text);
  if (auto split = golang::SplitHostPort(text); split.ok()) {
    host = split->first;
    exception.port = split->second;
  }
  if (host.empty()) return;
  exception.network = AddressBytes(host);
  if (!exception.network.empty()) {
    exception.prefix = static_cast<int>(exception.network.size()) * 8;
  } else {
    if (host.starts_with("*.")) host.erase(0, 1);
    exception.itself = host.front() != '.';
    exception.domain = exception.itself ? base::StrCat(".", host) : host;
  }
  exceptions_.push_back(std::move(exception));
}

bool ProxyRules::IsException(const Url& url) const {
  if (nothing_ || IsLoopbackHost(url.host)) return true;
  const std::string host = base::ToLower(base::Trim(url.host));
  const std::string address = AddressBytes(host);
  const std::string port = std::to_string(url.EffectivePort());
  return std::any_of(exceptions_.begin(), exceptions_.end(), [&](const Exception& exception) {
    if (!exception.port.empty() && exception.port != port) return false;
    if (!exception.network.empty()) {
      return SameNetwork(address, exception.network, exception.prefix);
    }
    return host.ends_with(exception.domain) ||
           (exception.itself && host == std::string_view(exception.domain).substr(1));
  });
}

std::optional<Url> ProxyRules::For(const Url& url) const {
  if (!proxy_ || url.scheme != "https") return std::nullopt;
  if (!everything_ && IsException(url)) return std::nullopt;
  return proxy_;
}

}  // namespace portcullis::net
