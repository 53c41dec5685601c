#include "webhook/credentials.h"

#include <gtest/gtest.h>

#include "webhook/endpoint.h"

namespace portcullis::webhook {
namespace {

std::string TokenFor(std::string_view users, std::string_view host, int port,
                     std::string_view more = "") {
  std::string text = "apiVersion: v1\nkind: Config\nusers:\n";
  std::string name;
  for (const char c : std::string(users) + " ") {
    if (c != ' ') {
      name.push_back(c);
      continue;
    }
    if (!name.empty()) text += "- {name: '" + name + "', user: {token: '" + name + "'}}\n";
    name.clear();
  }
  const auto credentials = Credentials::Parse(text + std::string(more), "/");
  if (!credentials.ok()) return credentials.status().message();
  const UserEntry* user = (*credentials)->Find(host, port);
  return user == nullptr ? "anonymous" : user->token;
}

TEST(CredentialsTest, ChoosesTheMostSpecificHost) {
  EXPECT_EQ(TokenFor("a.b.c:8443 *.b.c:8443 *", "a.b.c", 8443), "a.b.c:8443");
  EXPECT_EQ(TokenFor("*.c:8443 *.b.c:8443 *", "a.b.c", 8443), "*.b.c:8443");
  EXPECT_EQ(TokenFor("*.c:8443 *", "a.b.c", 8443), "*.c:8443");
  EXPECT_EQ(TokenFor("a.b.c *", "a.b.c", 443), "a.b.c");
  EXPECT_EQ(TokenFor("a.b.c *.b.c:443", "a.b.c", 443), "*.b.c:443");
  EXPECT_EQ(TokenFor("a.b.c *", "a.b.c", 8443), "*");
  EXPECT_EQ(TokenFor("x", "a.b.c", 443), "anonymous");
  EXPECT_EQ(TokenFor("x", "a.b.c", 443,
                     "current-context: k\ncontexts: [{name: k, context: {user: x}}]\n"),
            "x");
}

TEST(CredentialsTest, RefusesContradictingOnes) {
  const auto credentials =
      Credentials::Parse("users: [{name: '*', user: {token: t, username: u, password: p}}]", "/");
  ASSERT_TRUE(credentials.ok());
  const UserEntry* user = (*credentials)->Find("h", 443);
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(AuthorizationHeaders(*user, nullptr).status().message(),
            "username/password or bearer token may be set, but not both");
}

TEST(CredentialsTest, SendsBasicAuthAndImpersonation) {
  const auto credentials = Credentials::Parse(
      "users: [{name: '*', user: {username: u, password: p, as: bob, as-groups: [g]}}]", "/");
  ASSERT_TRUE(credentials.ok());
  const auto headers = AuthorizationHeaders(*(*credentials)->Find("h", 443), nullptr);
  ASSERT_TRUE(headers.ok());
  EXPECT_EQ(headers->Get("Authorization"), "Basic dTpw");
  EXPECT_EQ(headers->Get("Impersonate-User"), "bob");
  EXPECT_EQ(headers->Get("Impersonate-Group"), "g");
}

TEST(CleanPathTest, CollapsesAndEscapesAnew) {
  EXPECT_EQ(CleanPath(""), "/");
  EXPECT_EQ(CleanPath("a/b/"), "/a/b");
  EXPECT_EQ(CleanPath("//a/./b/../c%20d//"), "/a/c%20d");
  EXPECT_EQ(CleanPath("/a%2fb/c,d;e(1)"), "/a/b/c,d;e%281%29");
  EXPECT_EQ(CleanPath("/\u00fc x/%zz"), "/%C3%BC%20x/%25zz");
}

TEST(CredentialsTest, RefusesFilesAsGoDoes) {
  const auto error = [](std::string_view text) {
    return Credentials::Parse(text, "/").status().message();
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("users: {a: b}"),
            "json: cannot unmarshal object into Go struct field Config.users of type "
            "[]v1.NamedAuthInfo");
  EXPECT_EQ(error("users: [{name: a, user: {token: 5}}]"),
            "json: cannot unmarshal number into Go struct field AuthInfo.users.user.token of type "
            "string");
  EXPECT_EQ(error("users: [{name: a, user: {client-key-data: '#'}}]"),
            "illegal base64 data at input byte 0");
  EXPECT_EQ(error("kind: Pod"),
            "no kind \"Pod\" is registered for version \"v1\" in scheme "
            "\"k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50\"");
  EXPECT_EQ(Credentials::Load("/nonexistent").status().message(),
            "stat /nonexistent: no such file or directory");
}

}  // namespace
}  // namespace portcullis::webhook
