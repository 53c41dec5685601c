// SPDX-License-Identifier: Apache-2.0

#include "net/proxy.h"

#include <gtest/gtest.h>

namespace portcullis::net {
namespace {

TEST(ProxyTest, KnowsWhatIsReachedDirectly) {
  struct Case {
    std::string_view no_proxy, url;
    bool proxied;
  };
  const Case cases[] = {
      {"", "https://a.example/", true},
      {"", "http://a.example/", false},
      {"", "https://localhost:8443/", false},
      {"", "https://127.3.2.1/", false},
      {"", "https://[::1]/", false},
      {"*", "https://a.example/", false},
      {"example", "https://a.example/", false},
      {"example", "https://example/", false},
      {".example", "https://example/", true},
      {"*.example", "https://a.example/", false},
      {"*.example", "https://example/", true},
      {"b.example", "https://ab.example/", true},
      {" A.Example , c", "https://a.example/", false},
      {"a.example:8443", "https://a.example/", true},
      {"a.example:8443", "https://a.example:8443/", false},
      {"10.0.0.1", "https://10.0.0.1/", false},
      {"10.0.0.1:443", "https://10.0.0.1/", false},
      {"10.0.0.1:443", "https://10.0.0.1:8443/", true},
      {"10.0.0.0/8", "https://10.200.1.1/", false},
      {"10.0.0.0/9", "https://10.200.1.1/", true},
      {"fd00::/8", "https://[fd12::1]/", false},
      {"10.0.0.0/8", "https://ten.example/", true},
  };
  for (const Case& c : cases) {
    const ProxyRules rules({"http://proxy:3128", std::string(c.no_proxy)});
    EXPECT_EQ(rules.For(ParseUrl(c.url).value()).has_value(), c.proxied)
        << c.no_proxy << " " << c.url;
  }
}

TEST(ProxyTest, TakesAddressesWithAndWithoutScheme) {
  const auto url = ParseUrl("https://a.example/").value();
  EXPECT_EQ(ProxyRules({"proxy:3128", ""}).For(url)->HostPort(), "proxy:3128");
  EXPECT_EQ(ProxyRules({"http://u:p@proxy", ""}).For(url)->userinfo, "u:p");
  EXPECT_EQ(ProxyRules({"https://proxy", ""}).For(url)->HostPort(), "proxy:443");
  EXPECT_EQ(ProxyRules({"socks5://proxy", ""}).For(url)->HostPort(), "proxy:1080");
  EXPECT_FALSE(ProxyRules({"", ""}).For(url).has_value());
}

}  // namespace
}  // namespace portcullis::net
