// SPDX-License-Identifier: Apache-2.0

#include "net/url.h"

#include <gtest/gtest.h>

namespace portcullis::net {
namespace {

TEST(UrlTest, TakesAnUrlApartAndPutsItTogether) {
  const auto url = ParseUrl("HTTPS://user:pw@Example.com:8443/a%20b/c?x=1&y#frag");

  ASSERT_TRUE(url.ok()) << url.status().message();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->userinfo, "user:pw");
  EXPECT_EQ(url->host, "Example.com");
  EXPECT_EQ(url->EffectivePort(), 8443);
  EXPECT_EQ(url->Target(), "/a%20b/c?x=1&y");
  EXPECT_EQ(url->ToString(), "https://user:pw@Example.com:8443/a%20b/c?x=1&y#frag");
}

TEST(UrlTest, KnowsTheDefaultPortsAndBracketsIpv6) {
  EXPECT_EQ(ParseUrl("https://a")->HostPort(), "a:443");
  EXPECT_EQ(ParseUrl("http://a")->HostPort(), "a:80");
  EXPECT_EQ(ParseUrl("https://a")->Target(), "/");
  EXPECT_EQ(ParseUrl("https://[::1]:7/x")->HostPort(), "[::1]:7");
  EXPECT_EQ(ParseUrl("https://[::1]:7/x")->host, "::1");
}

struct BadUrl {
  std::string_view text, error;
};
constexpr BadUrl kBadUrls[] = {
    {"https://a/%zz", R"(parse "https://a/%zz": invalid URL escape "%zz")"},
    {"https://a:port/", R"(parse "https://a:port/": invalid port ":port" after host)"},
    {"https://[::1/", R"(parse "https://[::1/": missing ']' in host)"},
    {"://a", R"(parse "://a": missing protocol scheme)"},
    {"", R"(unsupported protocol scheme "")"},
    {"https://a b/", R"(parse "https://a b/": invalid character " " in host name)"},
};

TEST(UrlTest, SaysWhatIsWrongAsGoDoes) {
  for (const auto& bad : kBadUrls) {
    const auto url = ParseUrl(bad.text);
    ASSERT_FALSE(url.ok()) << bad.text;
    EXPECT_EQ(url.status().message(), bad.error);
  }
}

TEST(UrlTest, ResolvesReferences) {
  const auto base = *ParseUrl("https://a:1/b/c?d");

  EXPECT_EQ(ResolveReference(base, "/x?y")->ToString(), "https://a:1/x?y");
  EXPECT_EQ(ResolveReference(base, "x")->ToString(), "https://a:1/b/x");
  EXPECT_EQ(ResolveReference(base, "../x")->ToString(), "https://a:1/x");
  EXPECT_EQ(ResolveReference(base, "http://z/q")->ToString(), "http://z/q");
  EXPECT_EQ(ResolveReference(base, "//z/q")->ToString(), "https://z/q");
  EXPECT_EQ(ResolveReference(base, "?q=/http://")->ToString(), "https://a:1/b/c?q=/http://");
}

TEST(UrlTest, KnowsLoopbackHosts) {
  EXPECT_TRUE(IsLoopbackHost("LocalHost"));
  EXPECT_TRUE(IsLoopbackHost("127.8.0.1"));
  EXPECT_TRUE(IsLoopbackHost("::1"));
  EXPECT_FALSE(IsLoopbackHost("10.0.0.1"));
  EXPECT_FALSE(IsLoopbackHost("::2"));
}

}  // namespace
}  // namespace portcullis::net
