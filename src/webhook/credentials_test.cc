// SPDX-License-Identifier: Apache-2.0

#include "webhook/credentials.h"

#include <gtest/gtest.h>

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
  const auto config = kubeconfig::Parse(text + std::string(more), "/");
  if (!config.ok()) return config.status().message();
  const Credentials credentials(*config);
  const UserEntry* user = credentials.Find(host, port);
  return user == nullptr ? "anonymous" : user->user.token;
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

}  // namespace
}  // namespace portcullis::webhook
