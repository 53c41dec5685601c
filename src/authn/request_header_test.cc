// SPDX-License-Identifier: Apache-2.0

#include "authn/request_header.h"

#include <gtest/gtest.h>

#include "net/http.h"
#include "net/server.h"
#include "pki/certificates.h"

namespace portcullis::authn {
namespace {

class RequestHeaderTest : public ::testing::Test {
 protected:
  // The user the proxy speaks of, its groups and extras; or the error.
  std::string Ask(const net::Headers& headers, std::vector<std::string> allowed = {}) {
    RequestHeaderOptions options;
    options.authorities_pem = ca_.certificate_pem;
    options.allowed_names = std::move(allowed);
    options.username_headers = {"X-Remote-User", "X-Other-User"};
    options.uid_headers = {"X-Remote-Uid"};
    options.group_headers = {"X-Remote-Group"};
    options.extra_prefixes = {"X-Remote-Extra-"};
    const auto authenticator = MakeRequestHeader(options, clock_).value();
    const auto identity =
        authenticator->Authenticate({headers, has_certificate_ ? &certificate_ : nullptr, ""});
    if (!identity.ok()) return identity.status().message();
    if (!identity->has_value()) return "nobody";
    const api::UserInfo& user = (*identity)->user;
    std::string text = user.name + "/" + user.uid;
    for (const auto& group : user.groups) text += " " + group;
    for (const auto& [key, values] : user.extra) {
      for (const auto& value : values) text += " " + key + "=" + value;
    }
    return text;
  }

  void Present(const pki::KeyPair& authority, std::string name) {
    const auto pair =
        pki::Issue(authority, {.common_name = name, .client = true}, clock_.Now()).value();
    certificate_.chain = {pki::ParseCertificates(pair.certificate_pem).value()[0].der};
    certificate_.common_name = std::move(name);
    certificate_.serial = "7";
  }

  const base::Clock& clock_ = base::SystemClock();
  const pki::KeyPair ca_ = pki::MakeAuthority("front-proxies", clock_.Now()).value();
  net::ClientCertificate certificate_;
  bool has_certificate_ = true;
};

TEST_F(RequestHeaderTest, BelievesAProxyOfTheRightAuthority) {
  Present(ca_, "proxy");
  EXPECT_EQ(Ask({{"X-Remote-User", "anna"},
                 {"x-remote-group", "a"},
                 {"X-Remote-Group", "b"},
                 {"X-Remote-Uid", "5"},
                 {"X-Remote-Extra-Example.com%2fScope", "s"}}),
            "anna/5 a b example.com/scope=s");
  EXPECT_EQ(Ask({{"X-Remote-User", ""}, {"X-Other-User", "bob"}}), "bob/");
  EXPECT_EQ(Ask({{"X-Remote-Group", "a"}}), "nobody");
  EXPECT_EQ(Ask({{"X-Remote-User", "anna"}}, {"other", "proxy"}), "anna/");
}

TEST_F(RequestHeaderTest, BelievesNobodyElse) {
  const net::Headers headers = {{"X-Remote-User", "anna"}};
  Present(ca_, "proxy");
  EXPECT_EQ(Ask(headers, {"other"}), "x509: subject with cn=proxy is not in the allowed list");
  Present(pki::MakeAuthority("clients", clock_.Now()).value(), "proxy");
  EXPECT_EQ(Ask(headers),
            "verifying certificate SN=7 failed: x509: certificate signed by unknown authority");
  has_certificate_ = false;
  EXPECT_EQ(Ask(headers), "nobody");
}

}  // namespace
}  // namespace portcullis::authn
