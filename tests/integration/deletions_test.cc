// SPDX-License-Identifier: Apache-2.0

// Deleting one object and many: preconditions, grace periods, pages of a collection. Texts are
// those of k8s.io/apiserver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "golang/time.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

void MakeConfigMaps(TestServer& server, int count, std::string_view metadata = {}) {
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const Answer made = server.Post(
        kConfigMaps, base::StrCat(R"({"metadata":{"name":"c)", number.size() == 1 ? "0" : "",
                                  number, "\"", metadata, "}}"));
    ASSERT_EQ(made.status, 201) << made.body;
  }
}

std::int64_t Ends(const Answer& pod) {
  const auto time = golang::ParseTime(pod["metadata"]["deletionTimestamp"].AsString());
  return time.ok() ? time->seconds : 0;
}

TEST(Deletions, ACollectionGoesPageByPageIfAsked) {
  TestServer server;
  MakeConfigMaps(server, 5);

  const Answer first = server.Delete(base::StrCat(kConfigMaps, "?limit=2"));

  EXPECT_EQ(first.status, 200);
  ASSERT_EQ(first["items"].size(), 2u) << first.body;
  EXPECT_EQ(first["items"][1]["metadata"]["name"].AsString(), "c01");
  EXPECT_EQ(first["metadata"]["remainingItemCount"].AsInt(), 3);
  EXPECT_EQ(server.Get(kConfigMaps)["items"].size(), 3u);
  const std::string token(first["metadata"]["continue"].AsString());
  const Answer rest = server.Delete(base::StrCat(kConfigMaps, "?continue=", token));
  EXPECT_EQ(rest["items"].size(), 3u) << rest.body;
  EXPECT_TRUE(rest["metadata"]["continue"].is_null());
  EXPECT_EQ(server.Get(kConfigMaps)["items"].size(), 0u);
}

TEST(Deletions, OfACollectionTheObjectsWithFinalizersStay) {
  TestServer server;
  MakeConfigMaps(server, 40);
  server.Post(kConfigMaps, R"({"metadata":{"name":"held","finalizers":["x.y/z"]}})");

  EXPECT_EQ(server.Delete(kConfigMaps)["items"].size(), 41u);

  const Answer left = server.Get(kConfigMaps);
  ASSERT_EQ(left["items"].size(), 1u) << left.body;
  EXPECT_EQ(left["items"][0]["metadata"]["name"].AsString(), "held");
  EXPECT_EQ(left["items"][0]["metadata"]["deletionGracePeriodSeconds"].AsInt(-1), 0);
}

TEST(Deletions, APreconditionThatFailsNamesTheKind) {
  TestServer server;
  MakeConfigMaps(server, 1);
  const std::string path = base::StrCat(kConfigMaps, "/c00");
  const std::string uid(server.Get(path)["metadata"]["uid"].AsString());

  const Answer refused = server.Call("DELETE", path, R"({"preconditions":{"uid":"other"}})",
                                     {{"Content-Type", "application/json"}});

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.message(),
            base::StrCat("Operation cannot be fulfilled on ConfigMap \"c00\": the UID in the "
                         "precondition (other) does not match the UID in record (",
                         uid, "). The object might have been deleted and then recreated"));
}

TEST(Deletions, UidAndResourceVersionOfTheQueryArePreconditions) {
  TestServer server;
  MakeConfigMaps(server, 1);
  const std::string path = base::StrCat(kConfigMaps, "/c00");

  const Answer of_another = server.Delete(base::StrCat(path, "?uid=x"));
  EXPECT_EQ(of_another.status, 409);
  EXPECT_EQ(of_another["message"].AsString().substr(0, 79),
            "Operation cannot be fulfilled on ConfigMap \"c00\": the UID in the precondition (");
  EXPECT_EQ(server.Delete(base::StrCat(path, "?resourceVersion=0")).status, 409);
  EXPECT_EQ(server.Delete(base::StrCat(kConfigMaps, "?uid=x")).status, 409);
  EXPECT_EQ(server.Get(path).status, 200);

  const std::string uid(server.Get(path)["metadata"]["uid"].AsString());
  EXPECT_EQ(server.Delete(base::StrCat(path, "?uid=", uid)).status, 200);
}

TEST(Deletions, AShorterGracePeriodCountsFromTheFirstDelete) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const Answer made = server.Post(kPods, R"({"metadata":{"name":"p"},"spec":{"nodeName":"n",
      "containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string path = base::StrCat(kPods, "/p");
  const Answer first = server.Delete(base::StrCat(path, "?gracePeriodSeconds=600"));

  const Answer shorter = server.Delete(base::StrCat(path, "?gracePeriodSeconds=300"));

  EXPECT_EQ(shorter["metadata"]["deletionGracePeriodSeconds"].AsInt(), 300);
  EXPECT_EQ(Ends(shorter), Ends(first) - 300);
  const Answer longer = server.Delete(base::StrCat(path, "?gracePeriodSeconds=400"));
  EXPECT_EQ(Ends(longer), Ends(shorter));
  const Answer negative = server.Delete(base::StrCat(path, "?gracePeriodSeconds=-7"));
  EXPECT_EQ(negative["metadata"]["deletionGracePeriodSeconds"].AsInt(), 1);
}

TEST(Deletions, OptionsOfAnotherKindAreRefused) {
  TestServer server;
  MakeConfigMaps(server, 1);
  const auto refused = [&](std::string_view body) {
    return std::string(server
                           .Call("DELETE", base::StrCat(kConfigMaps, "/c00"), body,
                                 {{"Content-Type", "application/json"}})
                           .message());
  };

  EXPECT_THAT(refused(R"({"kind":"Pod","apiVersion":"v1"})"),
              ::testing::StartsWith("no kind \"Pod\" is registered for version \"v1\" in scheme "));
  EXPECT_EQ(refused(R"({"apiVersion":"a/b/c"})"), "unexpected GroupVersion string: a/b/c");
  EXPECT_EQ(
      refused(R"({"gracePeriodSeconds":"x"})"),
      "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of "
      "type int64");
}

TEST(Evictions, ABudgetAllowsThemOrSaysWhyNot) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  for (std::string_view name : {"a", "b"}) {
    server.Post(kPods, base::StrCat(R"({"metadata":{"name":")", name,
                                    R"(","labels":{"x":"y"}},"spec":{"nodeName":"n",
        "containers":[{"name":"c","image":"i"}]}})"));
    server.Patch(
        base::StrCat(kPods, "/", name, "/status"), "application/merge-patch+json",
        R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  }
  constexpr std::string_view kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
  const std::string status = base::StrCat(kBudgets, "/b/status");
  server.Post(kBudgets, R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,
      "selector":{"matchLabels":{"x":"y"}}}})");
  const auto evict = [&](std::string_view name) {
    return server.Post(base::StrCat(kPods, "/", name, "/eviction"),
                       base::StrCat(R"({"apiVersion":"policy/v1beta1","kind":"Eviction",
                           "metadata":{"name":")",
                                    name, "\"}}"));
  };

  const Answer unseen = evict("a");
  EXPECT_EQ(unseen.status, 429);
  EXPECT_EQ(unseen["details"]["causes"][0]["message"].AsString(),
            "The disruption budget b is still being processed by the server.");
  server.Patch(status, "application/merge-patch+json",
               R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,
                   "desiredHealthy":1,"expectedPods":2}})");
  EXPECT_EQ(evict("a").status, 201);
  const Answer budget = server.Get(base::StrCat(kBudgets, "/b"));
  EXPECT_EQ(budget["status"]["disruptionsAllowed"].AsInt(), 0);
  EXPECT_TRUE(budget["status"]["disruptedPods"].Has("a"));
  EXPECT_EQ(evict("b")["details"]["causes"][0]["message"].AsString(),
            "The disruption budget b does not allow evicting pods currently");
}

TEST(Evictions, ThePodTellsWhyItGoes) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  server.Post(kPods, R"({"metadata":{"name":"a","finalizers":["x.y/z"]},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto evict = [&] {
    return server.Post(base::StrCat(kPods, "/a/eviction"), R"({"apiVersion":"policy/v1",
        "kind":"Eviction","metadata":{"name":"a"}})");
  };

  EXPECT_EQ(evict().status, 201);

  const Answer pod = server.Get(base::StrCat(kPods, "/a"));
  ASSERT_EQ(pod["status"]["conditions"].size(), 1u) << pod.body;
  const json::Value condition = pod["status"]["conditions"][0];
  EXPECT_EQ(condition["type"].AsString(), "DisruptionTarget");
  EXPECT_EQ(condition["reason"].AsString(), "EvictionByEvictionAPI");
  EXPECT_EQ(condition["message"].AsString(), "Eviction API: evicting");
  EXPECT_FALSE(pod["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(evict().status, 201);
  EXPECT_EQ(server.Get(base::StrCat(kPods, "/a"))["status"]["conditions"].size(), 1u);
}

TEST(Bindings, MeanThePodThatIsThere) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const Answer pod = server.Post(kPods, R"({"metadata":{"name":"a"},
      "spec":{"containers":[{"name":"c","image":"i"}]}})");
  const auto bind = [&](std::string_view metadata, std::string_view target) {
    return server.Post(
        base::StrCat(kPods, "/a/binding"),
        base::StrCat(R"({"metadata":{"name":"a")", metadata, R"(},"target":{)", target, "}}"));
  };

  const Answer untargeted = bind("", R"("kind":"Pod")");
  EXPECT_EQ(untargeted.status, 500);
  EXPECT_EQ(untargeted.message(),
            R"([target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", )"
            "target.name: Required value]");
  const Answer other = bind(R"(,"uid":"u")", R"("name":"n")");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.message(),
            base::StrCat("Operation cannot be fulfilled on pods \"a\": StorageError: invalid "
                         "object, Code: 4, Key: /registry/pods/default/a, ResourceVersion: 0, "
                         "AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in "
                         "object meta: ",
                         pod["metadata"]["uid"].AsString()));
  EXPECT_EQ(
      server.Post("/api/v1/namespaces/default/bindings", R"({"target":{"name":"n"}})").message(),
      "Name parameter required.");
  EXPECT_EQ(bind("", R"("name":"n")").status, 201);
  EXPECT_EQ(server.Get(base::StrCat(kPods, "/a"))["status"]["conditions"][0]["type"].AsString(),
            "PodScheduled");
}

}  // namespace
}  // namespace portcullis
