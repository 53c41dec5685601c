// SPDX-License-Identifier: Apache-2.0

#include "authz/impersonation.h"

#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "net/http.h"

namespace portcullis::authz {
namespace {

// Allows what is in a set of "verb group/resource/subresource namespace/name", and notes the
// questions.
class Rights final : public Authorizer {
 public:
  Decision Authorize(const Attributes& a) const override {
    std::string what = a.resource_request ? base::StrCat(a.verb, " ", a.group, "/", a.resource, "/",
                                                         a.subresource, " ", a.ns, "/", a.name)
                                          : base::StrCat(a.verb, " ", a.path);
    keys_of_token = a.user->extra;
    asked.push_back(what);
    return {all || given.contains(what) ? Verdict::kAllowed : Verdict::kNoOpinion, "", ""};
  }
  Rules RulesFor(const api::UserInfo&, std::string_view) const override { return {}; }

  bool all = false;
  std::set<std::string> given;
  mutable std::vector<std::string> asked;
  mutable std::map<std::string, std::vector<std::string>> keys_of_token;
};

class ImpersonateTest : public ::testing::Test {
 protected:
  // Asks for a list of pods in "ns".
  base::Result<std::optional<Impersonated>> Try(const net::Headers& headers,
                                                bool constrained = true) {
    Attributes request;
    request.user = &joe_;
    request.verb = "list";
    request.resource = "pods";
    request.ns = "ns";
    return Impersonate(headers, request, rights_, constrained ? &modes_ : nullptr);
  }
  std::string Refusal(const net::Headers& headers, bool constrained = true) {
    const auto result = Try(headers, constrained);
    return result.ok() ? "none" : result.status().message();
  }

  LastModes modes_;
  Rights rights_;
  api::UserInfo joe_{"joe", "", {}, {}};
};

TEST_F(ImpersonateTest, IsNothingWithoutHeaders) {
  const auto nobody = Try({});
  ASSERT_TRUE(nobody.ok());
  EXPECT_FALSE(nobody->has_value());
  EXPECT_TRUE(rights_.asked.empty());
}

TEST_F(ImpersonateTest, NeedsAUserName) {
  EXPECT_EQ(
      Refusal(
          {{"Impersonate-Group", "a"}, {"Impersonate-Group", "b"}, {"Impersonate-Extra-Foo", "u"}}),
      R"(requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a", "b"}, )"
      R"(Extra:map[string][]string{"foo":[]string{"u"}}} without impersonating a user name)");
  EXPECT_EQ(Refusal({{"Impersonate-Uid", "7"}}),
            R"(requested &user.DefaultInfo{Name:"", UID:"7", Groups:[]string(nil), )"
            R"(Extra:map[string][]string(nil)} without impersonating a user name)");
}

TEST_F(ImpersonateTest, RefusesAsTheFirstModeThatApplies) {
  const auto refusal = [](std::string_view mode) {
    return base::StrCat("pods is forbidden: User \"joe\" cannot impersonate-on:", mode,
                        ":list resource \"pods\" in API group \"\" in the namespace \"ns\"");
  };
  EXPECT_EQ(Refusal({{"Impersonate-User", "ann"}}), refusal("user-info"));
  EXPECT_EQ(Refusal({{"Impersonate-User", "system:node:n1"}}), refusal("arbitrary-node"));
  EXPECT_EQ(Refusal({{"Impersonate-User", "system:node:"}}), refusal("user-info"));
  EXPECT_EQ(Refusal({{"Impersonate-User", "system:serviceaccount:n:a"}}),
            refusal("serviceaccount"));
  EXPECT_EQ(Refusal({{"Impersonate-User", "system:serviceaccount:N:a"}}), refusal("user-info"));
  EXPECT_EQ(Refusal({{"Impersonate-User", "system:node:n1"}, {"Impersonate-Group", "g"}}),
            R"(users "system:node:n1" is forbidden: User "joe" cannot impersonate resource "users")"
            R"( in API group "" at the cluster scope)");
  EXPECT_EQ(Refusal({{"Impersonate-User", "ann"}}, false),
            R"(users "ann" is forbidden: User "joe" cannot impersonate resource "users" in API )"
            R"(group "" at the cluster scope)");
}

TEST_F(ImpersonateTest, TriesTheLastWayFirst) {
  rights_.all = true;
  const net::Headers node = {{"Impersonate-User", "system:node:n1"}};
  const net::Headers node_with_group = {{"Impersonate-User", "system:node:n1"},
                                        {"Impersonate-Group", "a"}};

  EXPECT_EQ((*Try(node))->user.groups,
            (std::vector<std::string>{"system:nodes", "system:authenticated"}));
  EXPECT_EQ((*Try(node_with_group))->constraint, "");
  // Now the old way is the first one.
  EXPECT_EQ((*Try(node))->user.groups, std::vector<std::string>{"system:authenticated"});
}

TEST_F(ImpersonateTest, TheOldWayNeedsARightToEachPart) {
  const net::Headers headers = {{"Impersonate-User", "ann"},
                                {"impersonate-group", "a"},
                                {"Impersonate-Uid", "7"},
                                {"Impersonate-Extra-Example.com%2fScopes", "x"},
                                {"Impersonate-Extra-Example.com%2fScopes", "y"}};
  const std::vector<std::string> parts = {
      "impersonate /users/ /ann", "impersonate authentication.k8s.io/uids/ /7",
      "impersonate /groups/ /a",
      "impersonate authentication.k8s.io/userextras/example.com/scopes /x",
      "impersonate authentication.k8s.io/userextras/example.com/scopes /y"};
  for (const std::string& part : parts) {
    EXPECT_FALSE(Try(headers).ok()) << part;
    rights_.given.insert(part);
  }
  const auto ann = Try(headers);
  ASSERT_TRUE(ann.ok() && ann->has_value());
  EXPECT_EQ((*ann)->constraint, "");
  const api::UserInfo& user = (*ann)->user;
  EXPECT_EQ(user.name, "ann");
  EXPECT_EQ(user.uid, "7");
  EXPECT_EQ(user.groups, (std::vector<std::string>{"a", "system:authenticated"}));
  EXPECT_EQ(user.extra.at("example.com/scopes"), (std::vector<std::string>{"x", "y"}));
}

TEST_F(ImpersonateTest, ConstrainedNeedsARightToTheRequestToo) {
  const net::Headers ann = {{"Impersonate-User", "ann"}};
  rights_.given = {"impersonate:user-info authentication.k8s.io/users/ /ann"};
  EXPECT_FALSE(Try(ann).ok());
  rights_.given.insert("impersonate-on:user-info:list /pods/ ns/");
  const auto became = Try(ann);
  ASSERT_TRUE(became.ok() && became->has_value());
  EXPECT_EQ((*became)->constraint, "impersonate:user-info");
  EXPECT_FALSE(Try(ann, false).ok());
  EXPECT_EQ(Refusal({{"Impersonate-User", "bob"}}),
            R"(users.authentication.k8s.io "bob" is forbidden: User "joe" cannot )"
            R"(impersonate:user-info resource "users" in API group "authentication.k8s.io" at the )"
            "cluster scope");
}

TEST_F(ImpersonateTest, ConstrainedRefusesSomeGroupsAndKeys) {
  rights_.given = {"impersonate-on:user-info:list /pods/ ns/",
                   "impersonate:user-info authentication.k8s.io/users/ /ann"};
  const auto refusal = [&](std::string_view header, std::string_view value) {
    const std::string text =
        Refusal({{"Impersonate-User", "ann"}, {std::string(header), std::string(value)}});
    return text.substr(text.find("scope") + 5);
  };
  EXPECT_EQ(refusal("Impersonate-Group", "system:masters"),
            ": impersonating the system:masters group is not allowed");
  EXPECT_EQ(refusal("Impersonate-Group", ""),
            ": impersonating the empty string group is not allowed");
  EXPECT_EQ(refusal("Impersonate-Extra-AB", "x"),
            R"(: impersonating an invalid key in extra is not allowed: extra.key: Invalid value: )"
            R"("ab": must be a domain-prefixed path (such as "acme.io/foo"))");
  EXPECT_EQ(refusal("Impersonate-Extra-a%2f%42", "x"),
            R"(: impersonating a non-lowercase key in extra is not allowed: "a/B")");
  EXPECT_EQ(refusal("Impersonate-Extra-a%2fb", ""),
            ": impersonating the empty string value in extra is not allowed");
}

TEST_F(ImpersonateTest, ManyGroupsAreAskedForAtOnce) {
  rights_.given = {"impersonate-on:user-info:list /pods/ ns/",
                   "impersonate:user-info authentication.k8s.io/users/ /ann",
                   "impersonate:user-info authentication.k8s.io/groups/ /*"};
  net::Headers headers = {{"Impersonate-User", "ann"}};
  for (std::string_view group : {"a", "b", "c"}) headers.Add("Impersonate-Group", group);
  EXPECT_FALSE(Try(headers).ok());
  headers.Add("Impersonate-Group", "d");
  EXPECT_TRUE(Try(headers).ok());
}

TEST_F(ImpersonateTest, NodesAndServiceAccountsHaveTheirGroups) {
  rights_.all = true;
  const auto node = Try({{"Impersonate-User", "system:node:n1"}});
  EXPECT_EQ((*node)->user.groups,
            (std::vector<std::string>{"system:nodes", "system:authenticated"}));
  EXPECT_EQ((*node)->constraint, "impersonate:arbitrary-node");
  EXPECT_EQ(rights_.asked.back(), "impersonate:arbitrary-node authentication.k8s.io/nodes/ /n1");
  const auto account = Try({{"Impersonate-User", "system:serviceaccount:n:a"}});
  EXPECT_EQ((*account)->user.groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:n",
                                      "system:authenticated"}));
  EXPECT_EQ(rights_.asked.back(),
            "impersonate:serviceaccount authentication.k8s.io/serviceaccounts/ n/a");
  const auto anonymous = Try({{"Impersonate-User", "system:anonymous"}});
  EXPECT_EQ((*anonymous)->user.groups, std::vector<std::string>{"system:unauthenticated"});
  const auto old = Try({{"Impersonate-User", "system:node:n1"}}, false);
  EXPECT_EQ((*old)->user.groups, std::vector<std::string>{"system:authenticated"});
}

TEST_F(ImpersonateTest, TheNodeOfAServiceAccountIsAskedForByNoName) {
  joe_ = {"system:serviceaccount:n:agent",
          "",
          {},
          {{"authentication.kubernetes.io/node-name", {"n1"}},
           {"authentication.kubernetes.io/pod-name", {"p"}}}};
  rights_.given = {"impersonate-on:associated-node:list /pods/ ns/",
                   "impersonate:associated-node authentication.k8s.io/nodes/ /*"};
  const auto node = Try({{"Impersonate-User", "system:node:n1"}});
  ASSERT_TRUE(node.ok() && node->has_value()) << node.status().message();
  EXPECT_EQ((*node)->user.name, "system:node:n1");
  EXPECT_EQ((*node)->constraint, "impersonate:associated-node");
  EXPECT_EQ(rights_.keys_of_token.at("authentication.kubernetes.io/associated-node-keys"),
            (std::vector<std::string>{"authentication.kubernetes.io/node-name",
                                      "authentication.kubernetes.io/pod-name"}));
  EXPECT_EQ(rights_.keys_of_token.size(), 1u);
  EXPECT_FALSE(Try({{"Impersonate-User", "system:node:n2"}}).ok());
}

}  // namespace
}  // namespace portcullis::authz
