// SPDX-License-Identifier: Apache-2.0

// The life of an object: made, read, changed, listed, deleted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "harness/test_server.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";

std::string ConfigMap(std::string_view name, std::string_view data = "{}") {
  return std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")")
      .append(name)
      .append(R"("},"data":)")
      .append(data)
      .append("}");
}

TEST(Objects, CreateFillsInWhatTheServerOwns) {
  TestServer server;

  const Answer made = server.Post(kConfigMaps, ConfigMap("a", R"({"x":"1"})"));

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["kind"].AsString(), "ConfigMap");
  EXPECT_EQ(made["metadata"]["namespace"].AsString(), "default");
  EXPECT_EQ(made["metadata"]["uid"].AsString().size(), 36u);
  EXPECT_FALSE(made["metadata"]["resourceVersion"].AsString().empty());
  EXPECT_FALSE(made["metadata"]["creationTimestamp"].AsString().empty());
  EXPECT_EQ(made["metadata"]["managedFields"][0]["operation"].AsString(), "Update");
}

TEST(Objects, SecondCreateOfANameConflicts) {
  TestServer server;
  server.Post(kConfigMaps, ConfigMap("a"));

  const Answer again = server.Post(kConfigMaps, ConfigMap("a"));

  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(), "configmaps \"a\" already exists");
}

TEST(Objects, GenerateNameMakesANewNameEachTime) {
  TestServer server;
  const std::string body = R"({"metadata":{"generateName":"gen-"}})";

  const Answer first = server.Post(kConfigMaps, body);
  const Answer second = server.Post(kConfigMaps, body);

  EXPECT_EQ(first["metadata"]["name"].AsString().substr(0, 4), "gen-");
  EXPECT_NE(first["metadata"]["name"].AsString(), second["metadata"]["name"].AsString());
}

TEST(Objects, DryRunStoresNothing) {
  TestServer server;

  EXPECT_EQ(server.Post(std::string(kConfigMaps) + "?dryRun=All", ConfigMap("a")).status, 201);

  EXPECT_EQ(server.Get(std::string(kConfigMaps) + "/a").status, 404);
}

TEST(Objects, UpdateWithAnOldResourceVersionConflicts) {
  TestServer server;
  const Answer made = server.Post(kConfigMaps, ConfigMap("a"));
  const std::string path = std::string(kConfigMaps) + "/a";
  server.Put(path, ConfigMap("a", R"({"x":"1"})"));

  const Answer stale = server.Put(path, made.body);

  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(
      stale.message(),
      "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please "
      "apply your changes to the latest version and try again");
}

TEST(Objects, AnUpdateThatChangesNothingKeepsTheResourceVersion) {
  TestServer server;
  const Answer made = server.Post(kConfigMaps, ConfigMap("a", R"({"x":"1"})"));

  const Answer same = server.Put(std::string(kConfigMaps) + "/a", made.body);

  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(same["metadata"]["resourceVersion"].AsString(),
            made["metadata"]["resourceVersion"].AsString());
}

TEST(Objects, PatchesOfEachTypeChangeTheObject) {
  TestServer server;
  server.Post(kConfigMaps, ConfigMap("a", R"({"x":"1"})"));
  const std::string path = std::string(kConfigMaps) + "/a";

  server.Patch(path, "application/merge-patch+json", R"({"data":{"m":"1"}})");
  server.Patch(path, "application/json-patch+json",
               R"([{"op":"add","path":"/data/j","value":"2"}])");
  server.Patch(path, "application/strategic-merge-patch+json", R"({"data":{"x":null}})");
  const Answer last = server.Patch(path + "?fieldManager=t", "application/apply-patch+yaml",
                                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                                   "data: {s: '3'}\n");

  ASSERT_EQ(last.status, 200) << last.body;
  json::WriteOptions sorted;
  sorted.sort_keys = true;
  EXPECT_EQ(json::ToString(last["data"], sorted), R"({"j":"2","m":"1","s":"3"})");
}

TEST(Objects, ApplyMakesAnAbsentObject) {
  TestServer server;

  const Answer made =
      server.Patch(std::string(kConfigMaps) + "/a?fieldManager=t", "application/apply-patch+yaml",
                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n");

  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made["metadata"]["managedFields"][0]["operation"].AsString(), "Apply");
}

TEST(Objects, AppliedConfigurationsMayNotClaimAnIdentityOrManagers) {
  TestServer server;
  const auto apply = [&](std::string_view metadata) {
    return server.Patch(std::string(kConfigMaps) + "/a?fieldManager=t",
                        "application/apply-patch+yaml",
                        base::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata: ", metadata));
  };

  const Answer identity = apply("{name: a, uid: '1'}");
  const Answer managers = apply("{name: a, managedFields: []}");

  EXPECT_EQ(identity.status, 409);
  EXPECT_EQ(identity["message"].AsString(),
            "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object "
            "specified uid 1, and no existing object was found");
  EXPECT_EQ(managers.status, 400);
  EXPECT_EQ(managers["message"].AsString(), "metadata.managedFields must be nil");
}

TEST(Objects, RepeatedFieldsOfAppliedYamlAreRefusedIfStrict) {
  TestServer server;

  const Answer refused =
      server.Patch(std::string(kConfigMaps) + "/a?fieldManager=t&fieldValidation=Strict",
                   "application/apply-patch+yaml",
                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '1'\n"
                   "  x: '2'\n");

  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused["message"].AsString(),
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
            "  line 6: key \"x\" already set in map");
}

TEST(Objects, UnknownFieldsAreWarnedOfOrRefused) {
  TestServer server;
  const std::string body = R"({"metadata":{"name":"a"},"dta":{}})";

  const Answer warned = server.Post(std::string(kConfigMaps) + "?dryRun=All", body);
  const Answer refused = server.Post(std::string(kConfigMaps) + "?fieldValidation=Strict", body);

  EXPECT_EQ(warned.status, 201);
  EXPECT_THAT(warned.warnings(), ::testing::ElementsAre("299 - \"unknown field \\\"dta\\\"\""));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
            "unknown field \"dta\"");
}

TEST(Objects, ListsPageByPage) {
  TestServer server;
  for (const char* name : {"a", "b", "c"}) server.Post(kConfigMaps, ConfigMap(name));

  const Answer first = server.Get(std::string(kConfigMaps) + "?limit=2");
  const std::string token(first["metadata"]["continue"].AsString());
  const Answer second = server.Get(std::string(kConfigMaps) + "?limit=2&continue=" + token);

  EXPECT_EQ(first["items"].size(), 2u);
  EXPECT_EQ(first["metadata"]["remainingItemCount"].AsInt(), 1);
  EXPECT_EQ(second["items"].size(), 1u);
  EXPECT_EQ(second["items"][std::size_t{0}]["metadata"]["name"].AsString(), "c");
  EXPECT_FALSE(second["metadata"].Has("continue"));
}

TEST(Objects, SelectorsWithALimitFillTheirPages) {
  TestServer server;
  for (int i = 0; i < 6; ++i) {
    const std::string name = "c" + std::to_string(i);
    server.Post(kConfigMaps, R"({"metadata":{"name":")" + name + R"(","labels":{"odd":")" +
                                 (i % 2 == 1 ? "yes" : "no") + R"("}}})");
  }

  const Answer page = server.Get(std::string(kConfigMaps) + "?limit=2&labelSelector=odd%3Dyes");
  const std::string token(page["metadata"]["continue"].AsString());
  const Answer rest =
      server.Get(std::string(kConfigMaps) + "?limit=2&labelSelector=odd%3Dyes&continue=" + token);

  ASSERT_EQ(page["items"].size(), 2u);
  EXPECT_EQ(page["items"][std::size_t{1}]["metadata"]["name"].AsString(), "c3");
  ASSERT_EQ(rest["items"].size(), 1u);
  EXPECT_EQ(rest["items"][std::size_t{0}]["metadata"]["name"].AsString(), "c5");
}

TEST(Objects, FinalizersHoldADeletedObject) {
  TestServer server;
  server.Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})");
  const std::string path = std::string(kConfigMaps) + "/a";

  const Answer deleted = server.Delete(path);
  const Answer held = server.Get(path);
  server.Patch(path, "application/merge-patch+json", R"({"metadata":{"finalizers":null}})");

  EXPECT_EQ(deleted.status, 200);
  EXPECT_FALSE(held["metadata"]["deletionTimestamp"].is_null());
  EXPECT_EQ(server.Get(path).status, 404);
}

TEST(Objects, DeletePreconditionsAreChecked) {
  TestServer server;
  server.Post(kConfigMaps, ConfigMap("a"));

  const Answer refused =
      server.Call("DELETE", std::string(kConfigMaps) + "/a",
                  R"({"preconditions":{"uid":"11111111-1111-1111-1111-111111111111"}})",
                  {{"Content-Type", "application/json"}});

  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(server.Get(std::string(kConfigMaps) + "/a").status, 200);
}

TEST(Objects, ServicesGetDistinctAddresses) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/default/services";
  const auto make = [&](const char* name) {
    return server.Post(path, std::string(R"({"metadata":{"name":")") + name +
                                 R"("},"spec":{"ports":[{"port":80}]}})");
  };

  const Answer a = make("a");
  const Answer b = make("b");
  server.Delete(path + "/a");
  const std::string taken(a["spec"]["clusterIP"].AsString());
  const Answer again = server.Post(path, R"({"metadata":{"name":"c"},"spec":{"clusterIP":")" +
                                             taken + R"(","ports":[{"port":80}]}})");

  EXPECT_NE(taken, b["spec"]["clusterIP"].AsString());
  EXPECT_EQ(again.status, 201) << again.body;
}

TEST(Objects, ScaleChangesReplicasAndGeneration) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  server.Post(path, R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");

  const Answer scaled =
      server.Patch(path + "/d/scale", "application/merge-patch+json", R"({"spec":{"replicas":5}})");
  const Answer read = server.Get(path + "/d");

  EXPECT_EQ(scaled["kind"].AsString(), "Scale") << scaled.body;
  EXPECT_EQ(read["spec"]["replicas"].AsInt(), 5);
  EXPECT_EQ(read["metadata"]["generation"].AsInt(), 2);
}

TEST(Objects, SurviveARestartOnTheSameFolder) {
  TestServer server([](server::Options& options) { options.store = "sqlite"; });
  const Answer made = server.Post(kConfigMaps, ConfigMap("a", R"({"x":"1"})"));

  server.Restart();
  const Answer read = server.Get(std::string(kConfigMaps) + "/a");

  EXPECT_EQ(read.body, made.body);
}

TEST(Objects, CustomResourcesAreServedAsSoonAsTheirDefinitionIsStored) {
  TestServer server;
  const Answer made = server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,
    "storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{
    "type":"object","properties":{"size":{"type":"integer","default":3}}}}}}}]}})");

  const Answer widget = server.Post("/apis/example.com/v1/namespaces/default/widgets",
                                    R"({"apiVersion":"example.com/v1","kind":"Widget",
                                        "metadata":{"name":"w"},"spec":{}})");

  EXPECT_EQ(made.status, 201) << made.body;
  ASSERT_EQ(widget.status, 201) << widget.body;
  EXPECT_EQ(widget["spec"]["size"].AsInt(), 3);
}

TEST(Objects, APatchCannotMakeAnotherKindOfThem) {
  TestServer server;
  server.Post(kConfigMaps, ConfigMap("a"));
  const std::string path = base::StrCat(kConfigMaps, "/a");
  constexpr std::string_view kMerge = "application/merge-patch+json";

  EXPECT_THAT(
      std::string(server.Patch(path, kMerge, R"({"kind":"Other"})").message()),
      ::testing::HasSubstr("no kind \"Other\" is registered for version \"v1\" in scheme "));
  EXPECT_THAT(
      std::string(server.Patch(path, kMerge, R"({"kind":"Secret"})").message()),
      ::testing::EndsWith("converting (v1.Secret) to (core.ConfigMap): unknown conversion"));
  EXPECT_EQ(server.Patch(path, kMerge, R"({"kind":null})").status, 200);
  EXPECT_EQ(
      server.Patch(path, "application/strategic-merge-patch+json", R"({"kind":"Secret"})")["kind"]
          .AsString(),
      "ConfigMap");
  const Answer applied =
      server.Patch(path + "?fieldManager=t", "application/apply-patch+yaml",
                   R"({"apiVersion":"v1","kind":"Other","metadata":{"name":"a"}})");
  EXPECT_EQ(applied.status, 400);
  EXPECT_EQ(applied.message(), "invalid object type: /v1, Kind=Other");
}

TEST(Objects, ANewObjectHasNoVersionUnlessNothingIsStored) {
  TestServer server;
  constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
  constexpr std::string_view kBody = R"({"metadata":{"name":"versioned","resourceVersion":"7"}})";
  EXPECT_EQ(server.Post(kMaps, kBody).message(),
            "resourceVersion should not be set on objects to be created");
  const Answer tried = server.Post(base::StrCat(kMaps, "?dryRun=All"), kBody);
  EXPECT_EQ(tried.status, 201);
  EXPECT_EQ(tried["metadata"]["resourceVersion"].AsString(), "7");
}

TEST(Objects, AControllerRevisionCanBeReplacedByItself) {
  TestServer server;
  constexpr std::string_view kRevisions = "/apis/apps/v1/namespaces/default/controllerrevisions";
  constexpr std::string_view kBody =
      R"({"metadata":{"name":"a"},"revision":1,"data":{"b": 1.0, "a": {"x": 1, "x": 1e2}}})";
  ASSERT_EQ(server.Post(kRevisions, kBody).status, 201);
  const Answer replaced = server.Put(base::StrCat(kRevisions, "/a"), kBody);
  EXPECT_EQ(replaced.status, 200) << replaced.body;
  EXPECT_NE(replaced.body.find(R"("data":{"b":1.0,"a":{"x":1,"x":1e2}})"), std::string::npos)
      << replaced.body;
}

}  // namespace
}  // namespace portcullis
