// SPDX-License-Identifier: Apache-2.0

// Initializers as clients of the server see them: creates that wait, watches, the query parameter
// includeUninitialized, and the kind being served (docs/legacy.md, section "Initializers").

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kConfigurations =
    "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations";
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kJsonPatch = "application/json-patch+json";
constexpr std::string_view kDone = R"({"metadata":{"initializers":null}})";

void TurnOn(server::Options& options) {
  options.enable_admission_plugins = {"Initializers"};
  options.runtime_config["admissionregistration.k8s.io/v1alpha1"] = "true";
  options.store = "sqlite";
}

// A server whose new ConfigMaps wait for a.init.test.io.
class Initializers : public ::testing::Test {
 protected:
  void SetUp() override {
    const Answer configured = server_.Post(kConfigurations,
                                           R"({"metadata":{"name":"cfg"},"initializers":[
        {"name":"a.init.test.io","rules":[{"apiGroups":[""],"apiVersions":["v1"],
        "resources":["configmaps"]}]}]})");
    ASSERT_EQ(configured.status, 201) << configured.body;
  }

  Answer Create(std::string_view name, std::string_view query) {
    return server_.Post(base::StrCat(kConfigMaps, query),
                        base::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
  }
  static std::string PathOf(std::string_view name) { return base::StrCat(kConfigMaps, "/", name); }
  // A watch of what is to come, as `query` goes on.
  std::string WatchPath(std::string_view query) {
    const Answer list = server_.Get(kConfigMaps);
    return base::StrCat(kConfigMaps,
                        "?watch=1&resourceVersion=", list["metadata"]["resourceVersion"].AsString(),
                        query);
  }
  // "ADDED a", "MODIFIED b".
  static std::vector<std::string> TextsOf(const std::vector<json::Document>& events) {
    std::vector<std::string> texts;
    for (const json::Document& event : events) {
      texts.push_back(base::StrCat(event["type"].AsString(), " ",
                                   event["object"]["metadata"]["name"].AsString()));
    }
    return texts;
  }
  // The life of three objects: one that is initialized, one that is deleted before, one that fails;
  // and a last one that ends the story.
  void TellStory() {
    ASSERT_EQ(Create("a", "?includeUninitialized=true").status, 202);
    ASSERT_EQ(server_.Patch(PathOf("a"), kMergePatch, R"({"data":{"k":"v"}})").status, 200);
    ASSERT_EQ(server_.Patch(PathOf("a"), kMergePatch, kDone).status, 200);
    ASSERT_EQ(Create("b", "?includeUninitialized=1").status, 202);
    ASSERT_EQ(server_.Delete(PathOf("b")).status, 200);
    ASSERT_EQ(Create("c", "?includeUninitialized").status, 202);
    ASSERT_EQ(server_
                  .Patch(PathOf("c"), kMergePatch,
                         R"({"metadata":{"initializers":{"result":{"status":"Failure"}}}})")
                  .status,
              200);
    ASSERT_EQ(
        server_.Post(kConfigMaps, R"({"metadata":{"name":"z","initializers":{"pending":[]}}})")
            .status,
        201);
  }

  TestServer server_{&TurnOn};
};

using Strings = std::vector<std::string>;

// V-3, V-5.
TEST_F(Initializers, APlainWatchSeesAnObjectWhenItIsInitialized) {
  const auto events = server_.Watch(WatchPath(""), 2, [&] { TellStory(); });
  EXPECT_EQ(TextsOf(events), (Strings{"ADDED a", "ADDED z"}));
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events[0]["object"]["data"]["k"].AsString(), "v");
  EXPECT_FALSE(events[0]["object"]["metadata"].Has("initializers"));
}

// V-4, V-6.
TEST_F(Initializers, AWatchThatIncludesThemSeesEverything) {
  const auto events =
      server_.Watch(WatchPath("&includeUninitialized=true"), 9, [&] { TellStory(); });
  EXPECT_EQ(TextsOf(events), (Strings{"ADDED a", "MODIFIED a", "MODIFIED a", "ADDED b", "DELETED b",
                                      "ADDED c", "MODIFIED c", "DELETED c", "ADDED z"}));
}

TEST_F(Initializers, AWatchWithASelectorSeesAnObjectWhenItIsInitialized) {
  const auto events =
      server_.Watch(WatchPath("&fieldSelector=metadata.name%3Da"), 1, [&] { TellStory(); });
  EXPECT_EQ(TextsOf(events), (Strings{"ADDED a"}));
}

// V-2.
TEST_F(Initializers, AListShowsThemIfItIsAskedTo) {
  ASSERT_EQ(Create("a", "?includeUninitialized=true").status, 202);
  const auto count = [&](std::string_view query) {
    const Answer list = server_.Get(base::StrCat(kConfigMaps, query));
    std::size_t found = 0;
    for (const json::Value& item : list["items"].elements()) {
      if (item["metadata"]["name"].AsString() == "a") ++found;
    }
    return found;
  };
  EXPECT_EQ(count(""), 0U);
  EXPECT_EQ(count("?includeUninitialized=true"), 1U);
  EXPECT_EQ(count("?includeUninitialized=1"), 1U);
  EXPECT_EQ(count("?includeUninitialized=false"), 0U);
  EXPECT_EQ(count("?includeUninitialized=0"), 0U);
}

// I-2: the controller is the body of a watch.
TEST_F(Initializers, ACreateWaitsForTheController) {
  std::optional<Answer> created;
  std::thread creator;
  const auto seen = server_.Watch(WatchPath("&includeUninitialized=true"), 2, [&] {
    creator = std::thread([&] { created = Create("a", ""); });
    while (server_.Get(PathOf("a")).status != 200) std::this_thread::yield();
    const Answer done = server_.Patch(PathOf("a"), kJsonPatch, R"([
        {"op":"test","path":"/metadata/initializers/pending/0/name","value":"a.init.test.io"},
        {"op":"add","path":"/data","value":{"by":"controller"}},
        {"op":"remove","path":"/metadata/initializers"}])");
    EXPECT_EQ(done.status, 200) << done.body;
  });
  creator.join();
  EXPECT_EQ(created->status, 201) << created->body;
  EXPECT_EQ((*created)["data"]["by"].AsString(), "controller");
  EXPECT_EQ(TextsOf(seen), (Strings{"ADDED a", "MODIFIED a"}));
}

// I-6.
TEST_F(Initializers, ACreateGivesUpWhenItsTimeIsOver) {
  const Answer late = Create("a", "?timeout=100ms");
  EXPECT_EQ(late.status, 504) << late.body;
  EXPECT_EQ(late.message(), "Timeout: request did not complete within allowed duration");
  EXPECT_EQ(server_.Get(PathOf("a"))["metadata"]["initializers"]["pending"][std::size_t{0}]["name"]
                .AsString(),
            "a.init.test.io");
}

TEST_F(Initializers, ACreateThatWaitsDoesNotHoldUpTheEndOfTheServer) {
  std::thread creator([&] { Create("a", ""); });
  while (server_.Get(PathOf("a")).status != 200) std::this_thread::yield();
  const auto start = base::SystemClock().Steady();
  server_.Stop();
  EXPECT_LT(base::SystemClock().Steady() - start, std::chrono::seconds(10));
  creator.join();
  server_.Restart();
  EXPECT_EQ(server_.Get(PathOf("a")).status, 200);
}

// Two controllers of one name: the patch that tests for the name is done once.
TEST_F(Initializers, OfTwoControllersWithOneNameOneDoesTheWork) {
  constexpr std::string_view kAdd = R"([
      {"op":"test","path":"/metadata/initializers/pending/0/name","value":"a.init.test.io"},
      {"op":"add","path":"/data","value":{"by":"controller"}},
      {"op":"remove","path":"/metadata/initializers"}])";
  const auto seen = server_.Watch(WatchPath(""), 2, [&] {
    ASSERT_EQ(Create("a", "?includeUninitialized=true").status, 202);
    std::vector<int> answers(2);
    std::vector<std::thread> controllers;
    for (int& answer : answers) {
      controllers.emplace_back(
          [&] { answer = server_.Patch(PathOf("a"), kJsonPatch, kAdd).status; });
    }
    for (std::thread& controller : controllers) controller.join();
    std::sort(answers.begin(), answers.end());
    EXPECT_EQ(answers, (std::vector<int>{200, 422}));
    ASSERT_EQ(Create("z", "?includeUninitialized=true").status, 202);
    ASSERT_EQ(server_.Patch(PathOf("z"), kMergePatch, kDone).status, 200);
  });
  EXPECT_EQ(TextsOf(seen), (Strings{"ADDED a", "ADDED z"}));
}

// A controller that has died: its objects stay hidden until an operator removes its name.
TEST_F(Initializers, WhatADeadControllerLeavesIsFoundAndFreed) {
  EXPECT_EQ(Create("a", "?timeout=60ms").status, 504);
  EXPECT_EQ(Create("b", "?timeout=60ms").status, 504);
  const Answer hidden = server_.Get(base::StrCat(kConfigMaps, "?includeUninitialized=true"));
  std::vector<std::string> waiting;
  for (const json::Value& item : hidden["items"].elements()) {
    if (item["metadata"].Has("initializers")) {
      waiting.emplace_back(item["metadata"]["name"].AsString());
    }
  }
  EXPECT_EQ(waiting, (Strings{"a", "b"}));
  EXPECT_EQ(server_.Patch(PathOf("a"), kMergePatch, kDone).status, 200);
  EXPECT_EQ(server_.Delete(PathOf("b")).status, 200);
  EXPECT_EQ(server_.Get(PathOf("b")).status, 404);
}

// A configuration that changes while objects wait: they wait for the names they have.
TEST_F(Initializers, AChangedConfigurationIsForNewObjectsAlone) {
  std::thread creator;
  std::optional<Answer> created;
  creator = std::thread([&] { created = Create("a", ""); });
  while (server_.Get(PathOf("a")).status != 200) std::this_thread::yield();
  const Answer changed =
      server_.Patch(base::StrCat(kConfigurations, "/cfg"), kJsonPatch,
                    R"([{"op":"replace","path":"/initializers/0/name","value":"b.init.test.io"}])");
  ASSERT_EQ(changed.status, 200) << changed.body;
  const auto pending = [&](std::string_view name) {
    return std::string(
        server_.Get(PathOf(name))["metadata"]["initializers"]["pending"][std::size_t{0}]["name"]
            .AsString());
  };
  EXPECT_EQ(Create("b", "?includeUninitialized=true").status, 202);
  EXPECT_EQ(pending("a"), "a.init.test.io");
  EXPECT_EQ(pending("b"), "b.init.test.io");
  ASSERT_EQ(server_.Delete(base::StrCat(kConfigurations, "/cfg")).status, 200);
  EXPECT_EQ(Create("c", "").status, 201);
  EXPECT_EQ(pending("a"), "a.init.test.io");
  ASSERT_EQ(server_.Patch(PathOf("a"), kMergePatch, kDone).status, 200);
  creator.join();
  EXPECT_EQ(created->status, 201) << created->body;
}

TEST_F(Initializers, AnObjectThatWaitsOutlivesTheServer) {
  EXPECT_EQ(Create("a", "?timeout=50ms").status, 504);
  server_.Restart();
  EXPECT_EQ(server_.Get(PathOf("a")).status, 200);
  const Answer list = server_.Get(kConfigMaps);
  for (const json::Value& item : list["items"].elements()) {
    EXPECT_NE(item["metadata"]["name"].AsString(), "a");
  }
  EXPECT_EQ(server_.Patch(PathOf("a"), kMergePatch, kDone).status, 200);
}

// I-4: since 1.12 any boolean does.
TEST_F(Initializers, APostIncludesThemByAnyBoolean) {
  EXPECT_EQ(Create("a", "?includeUninitialized=true").status, 202);
  EXPECT_EQ(Create("b", "?includeUninitialized=0&timeout=60ms").status, 504);
}

// I-4: in 1.7 to 1.11 nothing but 1 means yes; and the ordered --admission-control switches it on.
TEST(InitializersOf18, APostIncludesThemByOneAlone) {
  TestServer old([](server::Options& options) {
    options.kubernetes_version = "1.8";
    options.admission_control = {"NamespaceLifecycle", "Initializers"};
  });
  const Answer configured = old.Post(kConfigurations, R"({"metadata":{"name":"cfg"},
      "initializers":[{"name":"a.init.test.io","rules":[{"apiGroups":[""],"apiVersions":["v1"],
      "resources":["configmaps"]}]}]})");
  ASSERT_EQ(configured.status, 201) << configured.body;
  const auto create = [&](std::string_view name, std::string_view query) {
    return old
        .Post(base::StrCat(kConfigMaps, query),
              base::StrCat(R"({"metadata":{"name":")", name, R"("}})"))
        .status;
  };
  EXPECT_EQ(create("a", "?includeUninitialized=true&timeout=60ms"), 504);
  EXPECT_EQ(create("b", "?includeUninitialized=1"), 202);
}

// V-8.
TEST(InitializersAndNamespaces, TheEndOfANamespaceTakesHiddenObjectsAlong) {
  TestServer server([](server::Options& options) {
    TurnOn(options);
    options.controllers = {"*"};
  });
  ASSERT_EQ(server
                .Post(kConfigurations, R"({"metadata":{"name":"cfg"},"initializers":[
                    {"name":"a.init.test.io","rules":[{"apiGroups":[""],"apiVersions":["v1"],
                    "resources":["secrets"]}]}]})")
                .status,
            201);
  ASSERT_EQ(server.Post("/api/v1/namespaces", R"({"metadata":{"name":"short"}})").status, 201);
  const std::string secrets = "/api/v1/namespaces/short/secrets";
  ASSERT_EQ(
      server.Post(secrets + "?includeUninitialized=true", R"({"metadata":{"name":"a"}})").status,
      202);
  ASSERT_EQ(server.Delete("/api/v1/namespaces/short").status, 200);
  while (server.Get("/api/v1/namespaces/short").status != 404) std::this_thread::yield();
  EXPECT_EQ(server.Get(secrets + "/a").status, 404);
}

// Roles and bindings grant nothing before they are initialized: no list shows them.
TEST(InitializersAndRbac, RolesAndBindingsCountWhenTheyShow) {
  TestServer server([](server::Options& options) {
    TurnOn(options);
    options.controllers = {"*"};
  });
  ASSERT_EQ(server
                .Post(kConfigurations, R"({"metadata":{"name":"cfg"},"initializers":[
                    {"name":"a.init.test.io","rules":[{"apiGroups":["rbac.authorization.k8s.io"],
                    "apiVersions":["*"],"resources":["*"]}]}]})")
                .status,
            201);
  const auto may_read = [&] {
    const Answer review = server.Post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        R"({"spec":{"user":"ann","resourceAttributes":{"verb":"get","resource":"secrets"}}})");
    EXPECT_EQ(review.status, 201) << review.body;
    return review["status"]["allowed"].AsBool();
  };
  const std::string group = "/apis/rbac.authorization.k8s.io/v1/";
  const std::pair<std::string, std::string> objects[] = {
      {"clusterroles", R"({"metadata":{"name":"part","labels":{"sums":"up"}},
          "rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]})"},
      {"clusterroles", R"({"metadata":{"name":"whole"},"rules":[],"aggregationRule":
          {"clusterRoleSelectors":[{"matchLabels":{"sums":"up"}}]}})"},
      {"clusterrolebindings", R"({"metadata":{"name":"ann"},"subjects":[{"kind":"User",
          "apiGroup":"rbac.authorization.k8s.io","name":"ann"}],"roleRef":{"kind":"ClusterRole",
          "apiGroup":"rbac.authorization.k8s.io","name":"whole"}})"}};
  for (const auto& [resource, body] : objects) {
    const Answer made =
        server.Post(base::StrCat(group, resource, "?includeUninitialized=true"), body);
    ASSERT_EQ(made.status, 202) << made.body;
  }
  for (const char* shown : {"clusterroles/part", "clusterroles/whole", "clusterrolebindings/ann"}) {
    EXPECT_FALSE(may_read()) << shown;
    const Answer done = server.Patch(base::StrCat(group, shown), kMergePatch, kDone);
    ASSERT_EQ(done.status, 200) << done.body;
  }
  EXPECT_TRUE(may_read());
}

// Section 2.13: no role grants the verb but by `*`.
TEST(InitializersAndRbac, TheVerbIsGrantedByStarsAlone) {
  TestServer server(&TurnOn);
  for (const char* role : {"admin", "edit", "cluster-admin", "pods"}) {
    if (role == std::string_view("pods")) {
      ASSERT_EQ(server
                    .Post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                          R"({"metadata":{"name":"pods"},"rules":[{"apiGroups":[""],
                              "resources":["pods"],"verbs":["initialize","update"]}]})")
                    .status,
                201);
    }
    const Answer bound = server.Post(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        base::StrCat(R"({"metadata":{"name":"of-)", role, R"("},"subjects":[{"kind":"User",
            "apiGroup":"rbac.authorization.k8s.io","name":")",
                     role, R"("}],"roleRef":{
            "apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")",
                     role, R"("}})"));
    ASSERT_EQ(bound.status, 201) << bound.body;
    const Answer review = server.Post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        base::StrCat(R"({"spec":{"user":")", role, R"(","resourceAttributes":{"verb":"initialize",
            "namespace":"default","resource":"pods"}}})"));
    const std::string_view name = role;
    EXPECT_EQ(review["status"]["allowed"].AsBool(), name == "cluster-admin" || name == "pods")
        << role << review.body;
  }
}

// Section 2.2: without names the list is null, as in Go.
TEST_F(Initializers, AListWithoutNamesIsNull) {
  const Answer failed = server_.Post(
      base::StrCat(kConfigMaps, "?includeUninitialized=true"),
      R"({"metadata":{"name":"a","initializers":{"result":{"status":"Failure","code":418}}}})");
  EXPECT_EQ(failed.status, 202) << failed.body;
  EXPECT_NE(server_.Get(PathOf("a")).body.find(R"("initializers":{"pending":null,"result":{)"),
            std::string::npos)
      << server_.Get(PathOf("a")).body;
}

// Section 2.9: controllers see what shows.
TEST(InitializersAndControllers, AWorkloadMakesPodsWhenItShows) {
  TestServer server([](server::Options& options) {
    TurnOn(options);
    options.controllers = {"*", "workloads"};
  });
  ASSERT_EQ(server
                .Post(kConfigurations, R"({"metadata":{"name":"cfg"},"initializers":[
                    {"name":"a.init.test.io","rules":[{"apiGroups":["apps"],"apiVersions":["*"],
                    "resources":["deployments"]}]}]})")
                .status,
            201);
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  const auto body = [](std::string_view name) {
    return base::StrCat(R"({"metadata":{"name":")", name,
                        R"("},"spec":{"selector":{"matchLabels":{"a":")", name,
                        R"("}},"template":{"metadata":{"labels":{"a":")", name,
                        R"("},"initializers":{"pending":[{"name":"not.for.pods"}]}},)",
                        R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  };
  const auto pods = [&](std::string_view name) {
    return server.Get(
        base::StrCat("/api/v1/namespaces/default/pods?labelSelector=a%3D", name))["items"];
  };
  ASSERT_EQ(server.Post(deployments + "?includeUninitialized=true", body("hidden")).status, 202);
  ASSERT_EQ(server.Post(deployments + "?includeUninitialized=true", body("shown")).status, 202);
  ASSERT_EQ(server.Patch(deployments + "/shown", kMergePatch, kDone).status, 200);
  while (pods("shown").size() == 0) std::this_thread::yield();
  // The controller that has seen the later one has passed over the earlier one.
  EXPECT_EQ(pods("hidden").size(), 0U);
  EXPECT_EQ(server.Get(deployments + "/hidden")["status"]["observedGeneration"].AsInt(), 0);
  ASSERT_EQ(server.Patch(deployments + "/hidden", kMergePatch, kDone).status, 200);
  while (pods("hidden").size() == 0) std::this_thread::yield();
}

TEST(InitializersOff, TheKindIsNotServed) {
  TestServer plain;
  EXPECT_EQ(plain.Get(kConfigurations).status, 404);
  TestServer without_plugin([](server::Options& options) {
    options.runtime_config["admissionregistration.k8s.io/v1alpha1"] = "true";
  });
  EXPECT_EQ(without_plugin.Get(kConfigurations).status, 404);
  TestServer by_resource([](server::Options& options) {
    options.runtime_config["admissionregistration.k8s.io/v1alpha1/initializerconfigurations"] =
        "true";
  });
  EXPECT_EQ(by_resource.Get(kConfigurations).status, 200);
}

}  // namespace
}  // namespace portcullis
