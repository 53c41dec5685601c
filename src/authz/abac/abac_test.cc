// SPDX-License-Identifier: Apache-2.0

#include "authz/abac/abac.h"

#include <gtest/gtest.h>

namespace portcullis::authz::abac {
namespace {

constexpr std::string_view kPolicies = R"(
# comments and empty lines are passed over
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"ann","namespace":"*","resource":"*","apiGroup":"*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"bob","namespace":"n","resource":"pods","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"team","nonResourcePath":"/logs/*"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"*","nonResourcePath":"/version"}}
{"user":"old","namespace":"n"}
)";

class AbacTest : public ::testing::Test {
 protected:
  bool May(const char* user, std::string_view verb, std::string_view ns, std::string_view resource,
           std::string_view group = "") {
    const api::UserInfo info{user, "", {std::string(api::kGroupAuthenticated)}, {}};
    Attributes a;
    a.user = &info;
    a.verb = verb;
    a.ns = ns;
    a.resource = resource;
    a.group = group;
    return authorizer_->Authorize(a).allowed();
  }
  bool MayPath(std::vector<std::string> groups, std::string_view path) {
    const api::UserInfo info{"x", "", std::move(groups), {}};
    Attributes a;
    a.user = &info;
    a.verb = "get";
    a.path = path;
    a.resource_request = false;
    return authorizer_->Authorize(a).allowed();
  }

  std::unique_ptr<Authorizer> authorizer_ = *Parse(kPolicies, "p");
};

TEST_F(AbacTest, AllowsWhatALineSays) {
  EXPECT_TRUE(May("ann", "delete", "n", "deployments", "apps"));
  EXPECT_TRUE(May("bob", "list", "n", "pods"));
  EXPECT_FALSE(May("bob", "create", "n", "pods"));
  EXPECT_FALSE(May("bob", "list", "m", "pods"));
  EXPECT_FALSE(May("bob", "list", "n", "pods", "metrics.k8s.io"));
  EXPECT_TRUE(May("old", "create", "n", "deployments", "apps"));
  EXPECT_FALSE(May("old", "create", "m", "deployments", "apps"));
  EXPECT_FALSE(May("eve", "get", "n", "pods"));
}

TEST_F(AbacTest, Paths) {
  EXPECT_TRUE(MayPath({"team"}, "/logs/a"));
  EXPECT_FALSE(MayPath({"team"}, "/log"));
  EXPECT_TRUE(MayPath({"system:authenticated"}, "/version"));
  EXPECT_FALSE(MayPath({"system:unauthenticated"}, "/version"));
}

TEST_F(AbacTest, SaysWhatItIsAskedFor) {
  const api::UserInfo bob{"bob", "", {}, {}};
  const Rules rules = authorizer_->RulesFor(bob, "n");
  ASSERT_EQ(rules.resource_rules.size(), 1U);
  EXPECT_EQ(rules.resource_rules[0].verbs, (std::vector<std::string>{"get", "list", "watch"}));
  EXPECT_FALSE(rules.incomplete);
  EXPECT_EQ(Parse("{}\n{\"user\":", "p").status().message(),
            "error reading policy file p, line 2: {\"user\":: unexpected end of JSON input");
}

}  // namespace
}  // namespace portcullis::authz::abac
