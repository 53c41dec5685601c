#include "authz/authorizer.h"

#include <gtest/gtest.h>

#include "authz/impersonation.h"
#include "authz/modes.h"
#include "net/http.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::authz {
namespace {

const api::UserInfo kJoe{"joe", "", {"system:authenticated"}, {}};

TEST(Denied, NamesResourceGroupAndPlace) {
  Attributes a;
  a.user = &kJoe;
  a.verb = "get";
  a.group = "apps";
  a.resource = "deployments";
  a.subresource = "scale";
  a.name = "d";
  EXPECT_EQ(Denied(a, "").message(),
            R"(deployments.apps "d" is forbidden: User "joe" cannot get resource )"
            R"("deployments/scale" in API group "apps" at the cluster scope)");
  a.resource_request = false;
  a.resource = a.group = a.name = {};
  a.path = "/<x>";
  EXPECT_EQ(Denied(a, "no").message(), R"(forbidden: User "joe" cannot get path "/&lt;x&gt;": no)");
}

TEST(Modes, DenyEverybodyButMasters) {
  auto store = store::OpenMemory();
  auto assembled = Assemble({{"AlwaysDeny"}}, *store);
  ASSERT_TRUE(assembled.ok());
  Attributes a;
  a.user = &kJoe;
  EXPECT_EQ(assembled->authorizer->Authorize(a).reason, "Everything is forbidden.");
  const api::UserInfo master{"m", "", {"system:masters"}, {}};
  a.user = &master;
  EXPECT_TRUE(assembled->authorizer->Authorize(a).allowed());
}

TEST(Impersonate, NeedsPermissionForEachPart) {
  auto deny = MakeAlwaysDeny();
  const net::Headers none;
  auto nobody = Impersonate(none, kJoe, *deny);
  ASSERT_TRUE(nobody.ok());
  EXPECT_FALSE(nobody->has_value());
  EXPECT_EQ(Impersonate({{"Impersonate-User", "ann"}}, kJoe, *deny).status().message(),
            R"(users "ann" is forbidden: User "joe" cannot impersonate resource "users" in API )"
            R"(group "" at the cluster scope: Everything is forbidden.)");
  EXPECT_EQ(Impersonate({{"Impersonate-User", "system:serviceaccount:n:a"}}, kJoe, *deny)
                .status()
                .message(),
            R"(serviceaccounts "a" is forbidden: User "joe" cannot impersonate resource )"
            R"("serviceaccounts" in API group "" in the namespace "n": Everything is forbidden.)");
  EXPECT_EQ(Impersonate({{"Impersonate-Group", "g"}}, kJoe, *deny).status().message(),
            "requested [{Group  g    }] without impersonating a user");
}

TEST(Impersonate, BecomesTheOtherUser) {
  auto allow = MakeAlwaysAllow();
  auto ann = Impersonate({{"Impersonate-User", "ann"},
                          {"impersonate-group", "a"},
                          {"Impersonate-Group", "b"},
                          {"Impersonate-Uid", "7"},
                          {"Impersonate-Extra-Example.com%2fScopes", "x"},
                          {"Impersonate-Extra-Example.com%2fScopes", "y"}},
                         kJoe, *allow);
  ASSERT_TRUE(ann.ok() && ann->has_value());
  EXPECT_EQ((*ann)->name, "ann");
  EXPECT_EQ((*ann)->uid, "7");
  EXPECT_EQ((*ann)->groups, (std::vector<std::string>{"a", "b", "system:authenticated"}));
  EXPECT_EQ((*ann)->extra.at("example.com/scopes"), (std::vector<std::string>{"x", "y"}));
  auto account = Impersonate({{"Impersonate-User", "system:serviceaccount:n:a"}}, kJoe, *allow);
  EXPECT_EQ((*account)->groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:n",
                                      "system:authenticated"}));
  auto anonymous = Impersonate({{"Impersonate-User", "system:anonymous"}}, kJoe, *allow);
  EXPECT_EQ((*anonymous)->groups, std::vector<std::string>{"system:unauthenticated"});
}

TEST(NodeAuthorizer, GivesSecretsOnlyOfItsPods) {
  auto store = store::OpenMemory();
  auto assembled = Assemble({{"Node"}}, *store);
  ASSERT_TRUE(assembled.ok());
  ASSERT_TRUE(store
                  ->Create({"", "pods", "n", "p"},
                           store::testing::EncodeText(
                               R"({"metadata":{"resourceVersion":""},"spec":{"nodeName":"n1",)"
                               R"("volumes":[{"name":"v","secret":{"secretName":"s"}}]}})"))
                  .ok());
  const api::UserInfo node{"system:node:n1", "", {"system:nodes"}, {}};
  Attributes a;
  a.user = &node;
  a.verb = "get";
  a.resource = "secrets";
  a.ns = "n";
  a.name = "s";
  EXPECT_TRUE(assembled->authorizer->Authorize(a).allowed());
  a.name = "other";
  EXPECT_EQ(assembled->authorizer->Authorize(a).reason,
            "no relationship found between node 'n1' and this object");
  a.resource = "services";
  EXPECT_TRUE(assembled->authorizer->Authorize(a).allowed());
}

}  // namespace
}  // namespace portcullis::authz
