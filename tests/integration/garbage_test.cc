// SPDX-License-Identifier: Apache-2.0

// The controllers at work: what is left of objects whose owners, namespaces or users go, and roles
// put together from others.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis::testing {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

using Wish = std::function<bool(const Answer&)>;

// Asks until the answer is as wished, for ten seconds at most.
Answer Eventually(TestServer& server, std::string_view path, const Wish& wish) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  Answer answer = server.Get(path);
  while (!wish(answer) && std::chrono::steady_clock::now() < end) answer = server.Get(path);
  return answer;
}

bool IsGone(const Answer& answer) { return answer.status == 404; }

std::string Path(std::string_view name) { return base::StrCat(kMaps, "/", name); }

// A ConfigMap; `owners` are its ownerReferences.
std::string Make(TestServer& server, std::string_view name, std::string_view owners = "[]") {
  const Answer made = server.Post(kMaps, base::StrCat(R"({"metadata":{"name":")", name,
                                                      R"(","ownerReferences":)", owners, "}}"));
  EXPECT_EQ(made.status, 201) << made.body;
  return std::string(made["metadata"]["uid"].AsString());
}

std::string Owner(std::string_view name, std::string_view uid, bool blocks) {
  return base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","name":")", name, R"(","uid":")",
                      uid, R"(","blockOwnerDeletion":)", blocks ? "true" : "false", "}");
}

class Garbage : public ::testing::Test {
 protected:
  // Pods need their service account.
  void SetUp() override {
    Eventually(server_, "/api/v1/namespaces/default/serviceaccounts/default",
               [](const Answer& answer) { return answer.status == 200; });
  }

  TestServer server_{[](server::Options& options) { options.controllers = {"*"}; }};
};

TEST_F(Garbage, ADependentOutlivesOneOfTwoOwnersThatIsDeletedInTheForeground) {
  const std::string a = Make(server_, "a");
  const std::string b = Make(server_, "b");
  Make(server_, "both", base::StrCat("[", Owner("a", a, true), ",", Owner("b", b, true), "]"));
  Make(server_, "one", base::StrCat("[", Owner("a", a, true), "]"));

  server_.Call("DELETE", Path("a"), R"({"propagationPolicy":"Foreground"})",
               {{"Content-Type", "application/json"}});

  EXPECT_EQ(Eventually(server_, Path("a"), IsGone).status, 404);
  EXPECT_EQ(server_.Get(Path("one")).status, 404);
  const Answer both = server_.Get(Path("both"));
  ASSERT_EQ(both["metadata"]["ownerReferences"].size(), 1U) << both.body;
  EXPECT_EQ(both["metadata"]["ownerReferences"][std::size_t{0}]["name"].AsString(), "b");
}

TEST_F(Garbage, AnOwnerInAnotherNamespaceIsNone) {
  ASSERT_EQ(server_.Post("/api/v1/namespaces", R"({"metadata":{"name":"far"}})").status, 201);
  const Answer owner =
      server_.Post("/api/v1/namespaces/far/configmaps", R"({"metadata":{"name":"o"}})");
  const std::string uid(owner["metadata"]["uid"].AsString());
  Make(server_, "d", base::StrCat("[", Owner("o", uid, false), "]"));

  EXPECT_EQ(Eventually(server_, Path("d"), IsGone).status, 404);
  const Answer events = Eventually(
      server_, "/api/v1/namespaces/default/events?fieldSelector=reason=OwnerRefInvalidNamespace",
      [](const Answer& answer) { return answer["items"].size() > 0; });
  EXPECT_EQ(events["items"][std::size_t{0}]["message"].AsString(),
            base::StrCat("ownerRef [v1/ConfigMap, namespace: default, name: o, uid: ", uid,
                         "] does not exist in namespace \"default\""));
}

TEST_F(Garbage, ANamespaceTellsWhatHoldsItUp) {
  ASSERT_EQ(server_.Post("/api/v1/namespaces", R"({"metadata":{"name":"held"}})").status, 201);
  const std::string map = "/api/v1/namespaces/held/configmaps/c";
  server_.Post("/api/v1/namespaces/held/configmaps",
               R"({"metadata":{"name":"c","finalizers":["example.com/f"]}})");

  server_.Delete("/api/v1/namespaces/held");

  const Answer held = Eventually(server_, "/api/v1/namespaces/held", [](const Answer& answer) {
    return answer["status"]["conditions"].size() == 5 &&
           answer["status"]["conditions"][4]["status"].AsString() == "True";
  });
  EXPECT_EQ(held["status"]["conditions"][3]["message"].AsString(),
            "Some resources are remaining: configmaps. has 1 resource instances");
  EXPECT_EQ(held["status"]["conditions"][4]["message"].AsString(),
            "Some content in the namespace has finalizers remaining: example.com/f in 1 resource "
            "instances");
  server_.Patch(map, "application/merge-patch+json", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(Eventually(server_, "/api/v1/namespaces/held", IsGone).status, 404);
}

TEST_F(Garbage, AClaimGoesOnceNoPodUsesIt) {
  const std::string claims = "/api/v1/namespaces/default/persistentvolumeclaims";
  const std::string pods = "/api/v1/namespaces/default/pods";
  ASSERT_EQ(server_
                .Post(claims, R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],
                  "resources":{"requests":{"storage":"1Gi"}}}})")
                .status,
            201);
  const Answer pod = server_.Post(pods, R"({"metadata":{"name":"p"},"spec":{"nodeName":"n",
      "volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],
      "containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(pod.status, 201) << pod.body;

  EXPECT_EQ(server_.Delete(claims + "/c").status, 200);
  EXPECT_EQ(server_.Get(claims + "/c").status, 200);
  server_.Delete(pods + "/p?gracePeriodSeconds=0");

  EXPECT_EQ(Eventually(server_, claims + "/c", IsGone).status, 404);
}

TEST_F(Garbage, ADeletedServiceAccountAndRootCaComeBack) {
  for (const std::string_view path : {"/api/v1/namespaces/default/serviceaccounts/default",
                                      "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"}) {
    const Answer first = Eventually(server_, path, [](const Answer& a) { return a.status == 200; });
    const std::string uid(first["metadata"]["uid"].AsString());
    EXPECT_EQ(server_.Delete(path).status, 200) << path;
    const Answer second = Eventually(server_, path, [&](const Answer& answer) {
      return answer.status == 200 && answer["metadata"]["uid"].AsString() != uid;
    });
    EXPECT_EQ(second.status, 200) << path;
  }
}

TEST_F(Garbage, AggregatedRolesShowTheirRules) {
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const auto has = [](const Answer& role, std::string_view resource) {
    for (const json::Value& rule : role["rules"].elements()) {
      for (const json::Value& one : rule["resources"].elements()) {
        if (one.AsString() == resource) return true;
      }
    }
    return false;
  };
  server_.Post(roles, R"({"metadata":{"name":"mine","labels":{
      "rbac.authorization.k8s.io/aggregate-to-view":"true"}},
      "rules":[{"apiGroups":["example.com"],"resources":["things"],"verbs":["get"]}]})");

  const Answer admin = Eventually(server_, roles + "/admin", [&](const Answer& role) {
    return has(role, "things") && has(role, "rolebindings");
  });

  EXPECT_TRUE(has(admin, "things")) << admin.body;
  EXPECT_TRUE(has(admin, "secrets")) << admin.body;
}

TEST_F(Garbage, ATokenEndsWithThePodItIsBoundTo) {
  const std::string account = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto ask = [&](std::string_view ref) {
    return server_.Post(account, base::StrCat(R"({"spec":{"boundObjectRef":)", ref, "}}"));
  };
  constexpr std::string_view kRef = R"({"kind":"Pod","apiVersion":"v1","name":"p"})";
  EXPECT_EQ(ask(kRef).message(), "pods \"p\" not found");
  EXPECT_EQ(ask(R"({"kind":"ConfigMap","apiVersion":"v1","name":"p"})").message(),
            "cannot bind token to object of type /v1, Kind=ConfigMap");
  EXPECT_EQ(server_.Post(account, R"({"spec":{"expirationSeconds":60}})").message(),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid "
            "value: 60: may not specify a duration less than 10 minutes");
  server_.Post(pods,
               R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(ask(R"({"kind":"Pod","apiVersion":"v1","name":"p","uid":"x"})").message(),
            "Operation cannot be fulfilled on Pod \"p\": the UID in the bound object reference (x) "
            "does not match the UID in record. The object might have been deleted and then "
            "recreated");
  const Answer made = ask(kRef);
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string token(made["status"]["token"].AsString());
  const auto review = [&] {
    return server_.Post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        base::StrCat(R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview",)",
                     R"("spec":{"token":")", token, R"("}})"));
  };
  EXPECT_TRUE(review()["status"]["authenticated"].AsBool());

  server_.Delete(pods + "/p?gracePeriodSeconds=0");

  const Answer late = review();
  EXPECT_FALSE(late["status"]["authenticated"].AsBool());
  EXPECT_EQ(late["status"]["error"].AsString(),
            "[invalid bearer token, service account token has been invalidated]");
}

}  // namespace
}  // namespace portcullis::testing
