// SPDX-License-Identifier: Apache-2.0

#include "authz/abac/abac.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/strings.h"

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
}

TEST(ParseAbac, RefusesLinesThatAreNoPolicies) {
  const auto error = [](std::string_view line) {
    const auto parsed = Parse(base::StrCat("{}\n", line), "p");
    if (parsed.ok()) return std::string();
    const std::string_view message = parsed.status().message();
    const std::string prefix = base::StrCat("error reading policy file p, line 2: ", line, ": ");
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return std::string(message.substr(std::min(prefix.size(), message.size())));
  };
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"({"user":)", "couldn't get version/kind; json parse error: unexpected end of JSON input"},
      {R"([{"user":"a"}])",
       "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of "
       R"(type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string )"
       R"("json:\"kind,omitempty\"" })"},
      {R"({"apiVersion":1,"kind":"Policy"})",
       "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct "
       "field .apiVersion of type string"},
      {R"({"apiVersion":"abac.authorization.kubernetes.io/v1","kind":"Policy","spec":{}})",
       R"(no kind "Policy" is registered for version "abac.authorization.kubernetes.io/v1" in )"
       R"(scheme "pkg/apis/abac/register.go:33")"},
      {R"({"kind":"X","user":"a"})",
       R"(no kind "X" is registered for version "abac.authorization.kubernetes.io/v0" in scheme )"
       R"("pkg/apis/abac/register.go:33")"},
      {R"({"apiVersion":"abac.authorization.kubernetes.io/v1beta1","spec":{}})",
       "converting (v1beta1.Policy) to (v0.Policy): unknown conversion"},
      {R"({"apiVersion":"a/b/c"})", "unexpected GroupVersion string: a/b/c"},
      {R"({"readonly":"true"})",
       "json: cannot unmarshal string into Go struct field Policy.readonly of type bool"},
      {R"({"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":[]})",
       "json: cannot unmarshal array into Go struct field Policy.spec of type v1beta1.PolicySpec"},
      {R"({"kind":"Policy","user":"a"})", ""},
      {R"({"apiVersion":"abac.authorization.kubernetes.io/v0","kind":"Policy","user":"a"})", ""},
      {"user: bob", ""},
      {"user: [", "yaml: line 1: did not find expected node content"},
  };
  for (const auto& [line, text] : cases) EXPECT_EQ(error(line), text) << line;
}

}  // namespace
}  // namespace portcullis::authz::abac
