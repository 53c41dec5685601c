// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "authz/modes.h"
#include "authz/rbac/bootstrap.h"
#include "authz/rbac/escalation.h"
#include "authz/rbac/rule_book.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::authz::rbac {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

class RbacTest : public ::testing::Test {
 protected:
  RbacTest() { assembled_ = *Assemble({{"RBAC"}}, *store_); }

  // `json` without metadata.resourceVersion.
  void Put(std::string_view resource, std::string_view ns, std::string_view name,
           std::string_view rest) {
    const std::string json = base::StrCat(R"({"metadata":{"name":")", name, R"(","namespace":")",
                                          ns, R"(","resourceVersion":""},)", rest, "}");
    auto made = store_->Create({kGroup, resource, ns, name}, store::testing::EncodeText(json));
    ASSERT_TRUE(made.ok()) << made.status().message();
  }
  void PutBootstrap() {
    json::Arena arena;
    for (const BootstrapObject& object : BootstrapObjects(arena)) {
      const json::Value full = json::SetPath(arena, object.object, {"metadata", "resourceVersion"},
                                             json::Value::StringView(""));
      auto made = store_->Create({kGroup, object.resource, object.ns, object.name},
                                 store::testing::EncodeText(json::ToString(full)));
      ASSERT_TRUE(made.ok()) << made.status().message();
    }
  }
  // `resource` may be "pods/log".
  Decision Ask(const api::UserInfo& user, std::string_view verb, std::string_view group,
               std::string_view resource, std::string_view ns = {}, std::string_view name = {}) {
    const auto parts = base::Cut(resource, "/");
    Attributes a;
    a.user = &user;
    a.verb = verb;
    a.group = group;
    a.resource = parts ? parts->first : resource;
    if (parts) a.subresource = parts->second;
    a.ns = ns;
    a.name = name;
    return assembled_.authorizer->Authorize(a);
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  Assembled assembled_;
  const api::UserInfo joe_{"joe", "", {"system:authenticated"}, {}};
};

TEST_F(RbacTest, AWriteIsInForceWhenItReturns) {
  EXPECT_FALSE(Ask(joe_, "get", "", "pods", "n").allowed());
  Put("roles", "n", "r", R"("rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
  Put("rolebindings", "n", "b",
      R"("roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"joe"}])");

  const Decision decision = Ask(joe_, "get", "", "pods", "n");
  EXPECT_TRUE(decision.allowed());
  EXPECT_EQ(decision.reason, R"(RBAC: allowed by RoleBinding "b/n" of Role "r" to User "joe")");
  EXPECT_FALSE(Ask(joe_, "get", "", "pods", "other").allowed());
  EXPECT_FALSE(Ask(joe_, "get", "", "pods").allowed());
  EXPECT_FALSE(Ask(joe_, "get", "", "pods/log", "n", "p").allowed());
  ASSERT_TRUE(store_->Delete({kGroup, "rolebindings", "n", "b"}, {}).ok());
  EXPECT_FALSE(Ask(joe_, "get", "", "pods", "n").allowed());
}

TEST_F(RbacTest, NamesRolesThatAreMissing) {
  Put("clusterrolebindings", "", "b",
      R"("roleRef":{"kind":"ClusterRole","name":"none"},"subjects":[{"kind":"User","name":"joe"}])");

  const Decision decision = Ask(joe_, "list", "", "pods", "y");
  EXPECT_EQ(decision.reason, R"(RBAC: clusterrole.rbac.authorization.k8s.io "none" not found)");
  Attributes a;
  a.user = &joe_;
  a.verb = "list";
  a.resource = "pods";
  a.ns = "y";
  EXPECT_EQ(Denied(a, decision.reason).message(),
            R"(pods is forbidden: User "joe" cannot list resource "pods" in API group "" in the )"
            R"(namespace "y": RBAC: clusterrole.rbac.authorization.k8s.io "none" not found)");
}

TEST_F(RbacTest, BindsServiceAccountsAndGroups) {
  Put("clusterroles", "", "r",
      R"("rules":[{"apiGroups":["*"],"resources":["*/scale","secrets"],"resourceNames":["s"],)"
      R"("verbs":["*"]},{"nonResourceURLs":["/metrics","/logs/*"],"verbs":["get"]}])");
  Put("rolebindings", "n", "sa",
      R"("roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"ServiceAccount","name":"a"}])");
  Put("clusterrolebindings", "", "g",
      R"("roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"Group","name":"devs"}])");

  const api::UserInfo account{"system:serviceaccount:n:a", "", {}, {}};
  EXPECT_EQ(Ask(account, "update", "apps", "deployments/scale", "n", "s").reason,
            R"(RBAC: allowed by RoleBinding "sa/n" of ClusterRole "r" to ServiceAccount "a/n")");
  EXPECT_FALSE(Ask(account, "get", "", "secrets", "n", "other").allowed());
  const api::UserInfo dev{"d", "", {"devs"}, {}};
  Attributes path;
  path.user = &dev;
  path.verb = "get";
  path.resource_request = false;
  for (auto [url, allowed] :
       {std::pair{"/metrics", true}, {"/logs/a/b", true}, {"/healthz", false}}) {
    path.path = url;
    EXPECT_EQ(assembled_.authorizer->Authorize(path).allowed(), allowed) << url;
  }
}

TEST_F(RbacTest, BootstrapRolesAllowWhatTheyShould) {
  PutBootstrap();
  for (const auto& binding : store_->List({kGroup, "clusterrolebindings"})) {
    const json::Value ref = binding->document()["roleRef"];
    EXPECT_TRUE(store_->Get({kGroup, "clusterroles", "", ref["name"].AsString()}) != nullptr)
        << binding->name();
  }
  EXPECT_TRUE(Ask(joe_, "create", "authorization.k8s.io", "selfsubjectaccessreviews").allowed());
  EXPECT_FALSE(Ask(joe_, "list", "", "pods", "n").allowed());
  const api::UserInfo master{"m", "", {"system:masters"}, {}};
  EXPECT_TRUE(Ask(master, "delete", "x", "y").allowed());
  const api::UserInfo scheduler{"system:kube-scheduler", "", {}, {}};
  EXPECT_TRUE(Ask(scheduler, "create", "", "pods/binding", "n", "p").allowed());
  const api::UserInfo gc{"system:serviceaccount:kube-system:generic-garbage-collector", "", {}, {}};
  EXPECT_TRUE(Ask(gc, "delete", "apps", "deployments", "n", "d").allowed());
}

TEST_F(RbacTest, AggregatesRulesByLabels) {
  PutBootstrap();
  json::Arena arena;
  const auto view = AggregatedRules(
      store_->Get({kGroup, "clusterroles", "", "view"})->document()["aggregationRule"], *store_);
  ASSERT_EQ(view.size(), 13U);
  EXPECT_EQ(view[0].verbs, (std::vector<std::string>{"get", "list", "watch"}));
}

TEST_F(RbacTest, AggregatedRolesAreInForceAtOnce) {
  PutBootstrap();
  Put("rolebindings", "n", "b",
      R"("roleRef":{"kind":"ClusterRole","name":"edit"},"subjects":[{"kind":"User","name":"joe"}])");
  EXPECT_TRUE(Ask(joe_, "create", "", "pods", "n").allowed());
  EXPECT_TRUE(Ask(joe_, "get", "", "services", "n").allowed());  // by way of view
  EXPECT_FALSE(Ask(joe_, "create", "rbac.authorization.k8s.io", "roles", "n").allowed());
  EXPECT_FALSE(Ask(joe_, "get", "example.com", "widgets", "n").allowed());
  const std::string role =
      R"({"metadata":{"name":"w","resourceVersion":"","labels":)"
      R"({"rbac.authorization.k8s.io/aggregate-to-view":"true"}},)"
      R"("rules":[{"apiGroups":["example.com"],"resources":["widgets"],"verbs":["get"]}]})";
  ASSERT_TRUE(
      store_->Create({kGroup, "clusterroles", "", "w"}, store::testing::EncodeText(role)).ok());
  EXPECT_TRUE(Ask(joe_, "get", "example.com", "widgets", "n").allowed());

  auto stored = *Assemble({{"RBAC"}, false}, *store_);
  Attributes a;
  a.user = &joe_;
  a.verb = "create";
  a.resource = "pods";
  a.ns = "n";
  EXPECT_FALSE(stored.authorizer->Authorize(a).allowed());
}

TEST_F(RbacTest, BootstrapRolesFollowTheFeatureGates) {
  json::Arena arena;
  const auto rules_without = [&](std::string_view off, std::string_view role) {
    for (const BootstrapObject& object :
         BootstrapObjects(arena, [&](std::string_view gate) { return gate != off; })) {
      if (object.name == role) return json::ToString(object.object["rules"]);
    }
    return std::string("no role");
  };
  constexpr std::string_view kCidrs = "system:controller:service-cidrs-controller";
  EXPECT_NE(rules_without("", kCidrs), "no role");
  EXPECT_EQ(rules_without("MultiCIDRServiceAllocator", kCidrs), "no role");
  EXPECT_NE(rules_without("", "system:node-proxier").find("servicecidrs"), std::string::npos);
  EXPECT_EQ(rules_without("MultiCIDRServiceAllocator", "system:node-proxier").find("servicecidrs"),
            std::string::npos);
  constexpr std::string_view kBundles =
      "system:controller:kube-apiserver-serving-clustertrustbundle-publisher";
  EXPECT_NE(rules_without("", kBundles), "no role");
  EXPECT_EQ(rules_without("ClusterTrustBundle", kBundles), "no role");
  EXPECT_EQ(rules_without("", "system:cluster-trust-bundle-discovery"),
            R"([{"verbs":["get","list","watch"],"apiGroups":["certificates.k8s.io"],)"
            R"("resources":["clustertrustbundles"]}])");
  constexpr std::pair<std::string_view, std::string_view> kGated[] = {
      {"PodCertificateRequest", "system:controller:podcertificaterequestcleaner"},
      {"StorageVersionAPI", "system:controller:storage-version-garbage-collector"},
      {"APIServerIdentity", "system:controller:storage-version-garbage-collector"},
      {"StorageVersionMigrator", "system:controller:storage-version-migrator-controller"},
      {"DRAResourcePoolStatus", "system:controller:resourcepoolstatusrequest-controller"}};
  for (const auto& [gate, role] : kGated) {
    EXPECT_NE(rules_without("", role), "no role");
    EXPECT_EQ(rules_without(gate, role), "no role");
  }
  constexpr std::tuple<std::string_view, std::string_view, std::string_view> kRules[] = {
      {"PodCertificateRequest", "system:node", "podcertificaterequests"},
      {"GenericWorkload", "system:kube-scheduler", "podgroups/status"},
      {"GenericWorkload", "system:aggregate-to-edit", "workloads"},
      {"GenericWorkload", "system:aggregate-to-view", "podgroups/status"},
      {"DRADeviceTaintRules", "system:kube-scheduler", "devicetaintrules"}};
  for (const auto& [gate, role, resource] : kRules) {
    EXPECT_NE(rules_without("", role).find(resource), std::string::npos) << role;
    EXPECT_EQ(rules_without(gate, role).find(resource), std::string::npos) << role;
  }
  EXPECT_EQ(rules_without("ComponentFlagz", "system:monitoring").find("flagz"), std::string::npos);
  EXPECT_NE(rules_without("ComponentFlagz", "system:monitoring").find("statusz"),
            std::string::npos);
}

TEST_F(RbacTest, ReconcileAddsOnlyWhatIsMissing) {
  json::Arena arena;
  BootstrapObject wanted;
  for (const BootstrapObject& object : BootstrapObjects(arena)) {
    if (object.name == "system:basic-user" && object.resource == "clusterroles") wanted = object;
  }
  EXPECT_TRUE(Reconcile(arena, wanted.object, wanted).is_null());
  json::Value less = json::With(arena, wanted.object, "rules", json::MakeArray(arena, {}));
  json::Value mended = Reconcile(arena, less, wanted);
  EXPECT_EQ(mended["rules"].size(), 3U);  // one per resource, as missing permissions are single
  less = json::SetPath(arena, less,
                       {"metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"},
                       json::Value::StringView("false"));
  EXPECT_TRUE(Reconcile(arena, less, wanted).is_null());
}

TEST_F(RbacTest, ReconcileMakesRolesAggregatedOnesAndBack) {
  json::Arena arena;
  BootstrapObject aggregated, plain;
  for (const BootstrapObject& object : BootstrapObjects(arena)) {
    if (object.name == "edit") aggregated = object;
    if (object.name == "system:aggregate-to-edit") plain = object;
  }
  const json::Value rule = aggregated.object["aggregationRule"];
  const json::Value without = json::Without(arena, aggregated.object, "aggregationRule");
  EXPECT_EQ(Reconcile(arena, without, aggregated)["aggregationRule"], rule);
  const json::Value with = json::With(arena, plain.object, "aggregationRule", rule);
  EXPECT_FALSE(Reconcile(arena, with, plain).Has("aggregationRule"));
}

TEST_F(RbacTest, RefusesToGrantWhatTheUserDoesNotHave) {
  Put("clusterroles", "", "cm",
      R"("rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}])");
  Put("rolebindings", "n", "b",
      R"("roleRef":{"kind":"ClusterRole","name":"cm"},"subjects":[{"kind":"User","name":"joe"}])");
  json::Arena arena;
  auto role = [&](std::string_view resource) {
    PolicyRule rule{{"get", "list"}, {""}, {std::string(resource)}, {}, {}};
    return json::ObjectBuilder(arena).Set("rules", RulesToJson(arena, {rule})).Build();
  };
  EscalationRequest request{joe_, "roles", "n", "r", "", role("secrets"), {}};
  EXPECT_EQ(
      CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac).message(),
      "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"joe\" "
      "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not "
      "currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}");
  request.object = role("configmaps");
  EXPECT_TRUE(CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac).ok());
  request.ns = "other";
  EXPECT_FALSE(CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac).ok());
}

TEST_F(RbacTest, EscalationIsCheckedWheneverMoreThanReferencesChange) {
  json::Arena arena;
  const auto object = [&arena](std::string_view text) { return *json::Parse(arena, text); };
  EscalationRequest request{joe_, "roles", "n", "r", "r", {}, {}};
  request.old_object = object(R"({"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]})");
  const auto check = [&](std::string_view metadata) {
    request.object =
        object(base::StrCat(R"({"metadata":)", metadata,
                            R"(,"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]})"));
    return CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac).ok();
  };
  request.old_object =
      json::With(arena, request.old_object, "metadata", json::MakeObject(arena, {}));
  EXPECT_TRUE(check(R"({"finalizers":["x"]})"));
  EXPECT_FALSE(check(R"({"labels":{"a":"b"}})"));
  // The right to escalate one role is no right to create it: the URL of a POST has no name.
  Put("clusterroles", "", "escalator",
      R"("rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["escalate"],"resourceNames":["r"]}])");
  Put("clusterrolebindings", "", "x",
      R"("roleRef":{"kind":"ClusterRole","name":"escalator"},"subjects":[{"kind":"User","name":"joe"}])");
  EXPECT_TRUE(check(R"({"labels":{"a":"b"}})"));
  request.url_name = "";
  EXPECT_FALSE(check(R"({"labels":{"a":"b"}})"));
}

TEST_F(RbacTest, BindNeedsTheRoleOrTheVerb) {
  Put("clusterroles", "", "strong",
      R"("rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}])");
  json::Arena arena;
  const json::Value ref = json::ObjectBuilder(arena)
                              .Set("apiGroup", "rbac.authorization.k8s.io")
                              .Set("kind", "ClusterRole")
                              .Set("name", "strong")
                              .Build();
  const json::Value binding = json::ObjectBuilder(arena).Set("roleRef", ref).Build();
  const EscalationRequest request{joe_, "rolebindings", "n", "b", "", binding, {}};
  EXPECT_NE(CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac)
                .message()
                .find("{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}"),
            std::string::npos);
  Put("clusterroles", "", "binder",
      R"("rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"verbs":["bind"]}])");
  Put("clusterrolebindings", "", "x",
      R"("roleRef":{"kind":"ClusterRole","name":"binder"},"subjects":[{"kind":"User","name":"joe"}])");
  EXPECT_TRUE(CheckEscalation(request, *assembled_.authorizer, *assembled_.rbac).ok());
}

TEST_F(RbacTest, ListsTheRulesOfAUser) {
  PutBootstrap();
  const Rules rules = assembled_.authorizer->RulesFor(joe_, "default");
  ASSERT_EQ(rules.resource_rules.size(), 2U);
  EXPECT_EQ(rules.resource_rules[1].resources, std::vector<std::string>{"selfsubjectreviews"});
  EXPECT_EQ(rules.non_resource_rules.size(), 2U);
  EXPECT_FALSE(rules.incomplete);
}

TEST(Modes, AreChecked) {
  auto store = store::OpenMemory();
  auto error = [&](std::vector<std::string> modes) {
    return Assemble({std::move(modes)}, *store).status().message();
  };
  EXPECT_EQ(error({}), "at least one authorization-mode must be passed");
  EXPECT_EQ(error({"Foo"}), R"(authorization-mode "Foo" is not a valid mode)");
  EXPECT_EQ(error({"RBAC", "RBAC"}),
            R"(authorization-mode "RBAC" has mode specified more than once)");
  EXPECT_EQ(error({"Node", "RBAC"}), "");
}

}  // namespace
}  // namespace portcullis::authz::rbac
