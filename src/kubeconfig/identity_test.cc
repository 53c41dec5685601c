// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "pki/certificates.h"

namespace portcullis::kubeconfig {
namespace {

using namespace std::chrono_literals;

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() : folder_(::testing::TempDir() + "identity_test_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~IdentityTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(std::string_view name, std::string_view text) {
    const std::string path = base::StrCat(folder_, "/", name);
    std::ofstream(path, std::ios::trunc) << text;
    return path;
  }
  base::Result<std::unique_ptr<Identity>> Make(const User& user,
                                               const net::ClientTlsOptions& tls = {}) {
    return Identity::Create(user, tls, nullptr, {}, cache_, clock_);
  }
  static net::ClientRequest RequestOf(const Identity& identity) {
    net::ClientRequest request;
    EXPECT_TRUE(identity.Apply(request).ok());
    return request;
  }
  static std::string AuthorizationOf(const Identity& identity) {
    return std::string(RequestOf(identity).headers.Get("Authorization"));
  }
  std::string ErrorOf(const User& user, const net::ClientTlsOptions& tls = {}) {
    return base::ReplaceAll(Make(user, tls).status().message(), folder_, "~");
  }

  const std::string folder_;
  base::FakeClock clock_;
  net::ClientTlsCache cache_;
};

TEST_F(IdentityTest, SendsBasicAuthAndImpersonation) {
  User user;
  user.username = "u";
  user.password = "p";
  user.as = "bob";
  user.as_uid = "7";
  user.as_groups = {"g"};
  user.as_user_extra = {{"a/b%", {"v"}}};
  const auto identity = Make(user);
  ASSERT_TRUE(identity.ok());
  const net::Headers headers = RequestOf(**identity).headers;
  EXPECT_EQ(headers.Get("Authorization"), "Basic dTpw");
  EXPECT_EQ(headers.Get("Impersonate-User"), "bob");
  EXPECT_EQ(headers.Get("Impersonate-Uid"), "7");
  EXPECT_EQ(headers.Get("Impersonate-Group"), "g");
  EXPECT_EQ(headers.Get("Impersonate-Extra-a%2Fb%25"), "v");
}

TEST_F(IdentityTest, ReadsItsTokenAgainAfterFiftySeconds) {
  User user;
  user.token_file = Write("token", "one\n");
  const auto identity = Make(user);
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(AuthorizationOf(**identity), "Bearer one");
  Write("token", "two");
  clock_.Advance(49s);
  EXPECT_EQ(AuthorizationOf(**identity), "Bearer one");
  clock_.Advance(2s);
  EXPECT_EQ(AuthorizationOf(**identity), "Bearer two");
  // What cannot be read leaves the last one in use.
  Write("token", "\n");
  clock_.Advance(60s);
  EXPECT_EQ(AuthorizationOf(**identity), "Bearer two");
}

TEST_F(IdentityTest, ATokenFileWinsOverAToken) {
  User user;
  user.token = "static";
  user.token_file = Write("token", "file");
  EXPECT_EQ(AuthorizationOf(**Make(user)), "Bearer file");
  user.token_file = folder_ + "/gone";
  EXPECT_EQ(AuthorizationOf(**Make(user)), "Bearer static");
}

TEST_F(IdentityTest, ReadsItsCertificateAgainAfterASecond) {
  const auto issue = [&](std::string_view name) {
    const auto pair =
        pki::MakeSelfSigned({.common_name = std::string(name), .client = true}, clock_.Now());
    Write("key", pair->key_pem);
    return Write("crt", pair->certificate_pem);
  };
  User user;
  user.client_certificate = issue("one");
  user.client_key = folder_ + "/key";
  const auto identity = Make(user);
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  const auto first = RequestOf(**identity).tls;
  clock_.Advance(2s);
  EXPECT_EQ(RequestOf(**identity).tls, first);
  issue("two");
  EXPECT_EQ(RequestOf(**identity).tls, first);
  clock_.Advance(2s);
  const auto second = RequestOf(**identity).tls;
  EXPECT_NE(second, first);
  Write("crt", "none");
  clock_.Advance(2s);
  EXPECT_EQ(RequestOf(**identity).tls, second);
}

// What client-go of v1.36 says.
TEST_F(IdentityTest, SaysWhatIsWrong) {
  User user;
  user.token_file = "/gone";
  EXPECT_EQ(ErrorOf(user), "open /gone: no such file or directory");
  user.token_file = Write("empty", "\n");
  EXPECT_EQ(ErrorOf(user), "read empty token from file \"~/empty\"");
  user.token_file = Write("token", "t");
  user.username = "u";
  EXPECT_EQ(ErrorOf(user), "username/password or bearer token may be set, but not both");

  user = {};
  user.client_certificate = "/gone";
  EXPECT_EQ(ErrorOf(user), "open /gone: no such file or directory");
  user = {};
  user.client_certificate_data = user.client_key_data = "a";
  EXPECT_EQ(ErrorOf(user), "tls: failed to find any PEM data in certificate input");

  user = {};
  user.exec.emplace().api_version = "v9";
  EXPECT_EQ(ErrorOf(user), "exec plugin: invalid apiVersion \"v9\"");

  EXPECT_EQ(ErrorOf({}, {.ca_pem = "a"}),
            "unable to load root certificates: unable to parse bytes as PEM block");
  EXPECT_EQ(ErrorOf({}, {.ca_pem = "a", .insecure_skip_verify = true}),
            "specifying a root certificates file with the insecure flag is not allowed");
}

}  // namespace
}  // namespace portcullis::kubeconfig
