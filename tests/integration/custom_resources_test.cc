// SPDX-License-Identifier: Apache-2.0

// CustomResourceDefinitions over HTTP: names, defaults of what is stored already, status, deletion.
// Texts are those of apiextensions-apiserver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"
#include "base/strings.h"
#include "harness/test_server.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using testing::TestServer;

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kThings = "/apis/example.com/v1/namespaces/default/things";
constexpr std::string_view kMerge = "application/merge-patch+json";

std::string Definition(std::string_view plural, std::string_view kind, std::string_view short_name,
                       std::string_view properties = "{}") {
  return base::StrCat(
      R"({"metadata":{"name":")", plural, R"(.example.com"},"spec":{"group":"example.com",
          "scope":"Namespaced","names":{"plural":")",
      plural, R"(","kind":")", kind, R"(","shortNames":[")", short_name,
      R"("]},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
          "schema":{"openAPIV3Schema":{"type":"object","description":"A thing.","properties":
          {"spec":{"type":"object","properties":)",
      properties, R"(},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}
          }}}}]}})");
}

std::string Thing(std::string_view name, std::string_view spec, std::string_view metadata = {}) {
  return base::StrCat(R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":")", name,
                      "\"", metadata, R"(},"spec":)", spec, "}");
}

// Asks until the answer is as wished; conditions and cleaning follow a write.
template <typename Wish>
Answer Eventually(TestServer& server, std::string_view path, Wish wish) {
  Answer answer = server.Get(path);
  for (int i = 0; i < 2000 && !wish(answer); ++i) answer = server.Get(path);
  return answer;
}

json::Value ConditionOf(const Answer& definition, std::string_view type) {
  for (const json::Value condition : definition["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return {};
}

TEST(CustomResources, AShortNameInUseKeepsADefinitionFromBeingServed) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, Definition("things", "Thing", "th")).status, 201);
  ASSERT_EQ(server.Post(kDefinitions, Definition("others", "Other", "th")).status, 201);
  const std::string path = base::StrCat(kDefinitions, "/others.example.com");

  const Answer refused = Eventually(server, path, [](const Answer& answer) {
    return !ConditionOf(answer, "NamesAccepted").is_null();
  });
  EXPECT_EQ(ConditionOf(refused, "NamesAccepted")["reason"].AsString(), "ShortNamesConflict");
  EXPECT_EQ(ConditionOf(refused, "NamesAccepted")["message"].AsString(),
            "\"th\" is already in use");
  EXPECT_EQ(ConditionOf(refused, "Established")["reason"].AsString(), "NotAccepted");
  EXPECT_EQ(server.Get("/apis/example.com/v1/namespaces/default/others").status, 404);

  ASSERT_EQ(server.Patch(path, kMerge, R"({"spec":{"names":{"shortNames":["ot"]}}})").status, 200);
  EXPECT_EQ(server.Get("/apis/example.com/v1/namespaces/default/others").status, 200);
}

// kube-apiserver keeps these apart in etcd: nothing that it serves itself is an instance.
TEST(CustomResources, TheEndOfADefinitionOfAKindOfKubernetesTakesNoneOfIt) {
  TestServer server;
  constexpr std::string_view kClasses = "/apis/networking.k8s.io/v1/ingressclasses";
  ASSERT_EQ(
      server.Post(kClasses, R"({"metadata":{"name":"kept"},"spec":{"controller":"a.b/c"}})").status,
      201);
  ASSERT_EQ(server
                .Post(kDefinitions,
                      R"({"metadata":{"name":"ingressclasses.networking.k8s.io","annotations":
                  {"api-approved.kubernetes.io":"https://example.com"}},"spec":{
                  "group":"networking.k8s.io","scope":"Cluster",
                  "names":{"plural":"ingressclasses","kind":"IngressClass"},
                  "versions":[{"name":"v1","served":true,"storage":true,
                  "schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  const std::string path = base::StrCat(kDefinitions, "/ingressclasses.networking.k8s.io");
  const Answer made = Eventually(server, path, [](const Answer& answer) {
    return ConditionOf(answer, "Established")["status"].AsString() == "True";
  });
  ASSERT_EQ(ConditionOf(made, "Established")["status"].AsString(), "True") << made.body;
  ASSERT_EQ(server.Delete(path).status, 200);
  const auto gone = [](const Answer& answer) { return answer.status == 404; };
  ASSERT_EQ(Eventually(server, path, gone).status, 404);
  EXPECT_EQ(server.Get(base::StrCat(kClasses, "/kept")).status, 200);
}

TEST(CustomResources, NewDefaultsAreSeenInStoredObjects) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th", R"({"a":{"type":"string"}})"));
  ASSERT_EQ(server.Post(kThings, Thing("x", R"({"a":"1"})")).status, 201);

  const Answer changed = server.Patch(
      base::StrCat(kDefinitions, "/things.example.com"), "application/json-patch+json",
      R"([{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec",
           "value":{"type":"object","properties":{"b":{"type":"string","default":"new"}}}}])");
  ASSERT_EQ(changed.status, 200) << changed.body;

  EXPECT_EQ(json::ToString(server.Get(base::StrCat(kThings, "/x"))["spec"]), R"({"b":"new"})");
  const Answer list = server.Get(kThings);
  EXPECT_EQ(json::ToString(list["items"][0]["spec"]), R"({"b":"new"})");
}

TEST(CustomResources, StatusIsWrittenThroughItsOwnEndpointOnly) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th", R"({"a":{"type":"string"}})"));
  server.Post(kThings, Thing("x", R"({"a":"1"})"));
  const std::string path = base::StrCat(kThings, "/x");

  const std::string both = R"({"spec":{"a":"2"},"status":{"s":1},"metadata":{"labels":{"l":"1"}}})";
  const Answer status = server.Patch(path + "/status", kMerge, both);
  ASSERT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status["spec"]["a"].AsString(), "1");
  EXPECT_EQ(status["status"]["s"].AsInt(), 1);
  EXPECT_FALSE(status["metadata"].Has("labels"));
  EXPECT_EQ(status["metadata"]["generation"].AsInt(), 1);

  const Answer main = server.Patch(path, kMerge, R"({"spec":{"a":"3"},"status":{"s":2}})");
  EXPECT_EQ(main["status"]["s"].AsInt(), 1);
  EXPECT_EQ(main["metadata"]["generation"].AsInt(), 2);
}

TEST(CustomResources, ADeletedDefinitionGoesWithItsLastObject) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th"));
  const std::string path = base::StrCat(kDefinitions, "/things.example.com");
  ASSERT_EQ(server.Post(kThings, Thing("free", "{}")).status, 201);
  ASSERT_EQ(server.Post(kThings, Thing("held", "{}", R"(,"finalizers":["a.b/c"])")).status, 201);

  ASSERT_EQ(server.Delete(path).status, 200);

  const Answer held = Eventually(server, base::StrCat(kThings, "/held"), [](const Answer& answer) {
    return answer["metadata"].Has("deletionTimestamp");
  });
  EXPECT_TRUE(held["metadata"].Has("deletionTimestamp"));
  EXPECT_EQ(Eventually(server, base::StrCat(kThings, "/free"),
                       [](const Answer& answer) { return answer.status == 404; })
                .status,
            404);
  EXPECT_EQ(ConditionOf(server.Get(path), "Terminating")["reason"].AsString(),
            "InstanceDeletionInProgress");
  const Answer late = server.Post(kThings, Thing("late", "{}"));
  EXPECT_EQ(late.status, 403);
  EXPECT_THAT(late.message(),
              HasSubstr("create not allowed while custom resource definition is terminating"));

  ASSERT_EQ(
      server.Patch(base::StrCat(kThings, "/held"), kMerge, R"({"metadata":{"finalizers":null}})")
          .status,
      200);
  EXPECT_EQ(
      Eventually(server, path, [](const Answer& answer) { return answer.status == 404; }).status,
      404);
}

TEST(CustomResources, ADefinitionThatIsHeldTakesObjectsAgainOnceItsObjectsAreGone) {
  TestServer server;
  const std::string path = base::StrCat(kDefinitions, "/things.example.com");
  server.Post(kDefinitions, Definition("things", "Thing", "th"));
  ASSERT_EQ(server.Patch(path, kMerge, R"({"metadata":{"finalizers":["a.b/c"]}})").status, 200);
  ASSERT_EQ(server.Delete(path).status, 200);
  const auto is_done = [](const Answer& answer) {
    return ConditionOf(answer, "Terminating")["status"].AsString() == "False";
  };
  ASSERT_TRUE(is_done(Eventually(server, path, is_done)));

  // Readers see what the server has written a moment before it serves what follows from it.
  const auto is_created = [](const Answer& answer) {
    return json::ToString(answer["resources"][0]["verbs"]).find("create") != std::string::npos;
  };
  ASSERT_TRUE(is_created(Eventually(server, "/apis/example.com/v1", is_created)));
  EXPECT_EQ(server.Post(kThings, Thing("late", "{}")).status, 201);
}

TEST(CustomResources, AWatchEndsWhenTheDefinitionChanges) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th", R"({"a":{"type":"string"}})"));
  server.Post(kThings, Thing("x", R"({"a":"1"})"));
  const std::string watch = base::StrCat(kThings, "?watch=true");

  const auto events = server.Watch(
      watch, 9,
      [&] {
        server.Patch(base::StrCat(kDefinitions, "/things.example.com"), kMerge,
                     R"({"spec":{"names":{"categories":["all"]}}})");
      },
      1);

  EXPECT_EQ(events.size(), 1U);
  EXPECT_TRUE(server.has_ended_watch());
}

TEST(CustomResources, AWatchTellsOfTheEndOfAllObjectsBeforeItEndsWithTheDefinition) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th", R"({"a":{"type":"string"}})"));
  server.Post(kThings, Thing("x", R"({"a":"1"})"));
  const std::string watch = base::StrCat(kThings, "?watch=true");

  const auto events = server.Watch(
      watch, 9, [&] { server.Call("DELETE", base::StrCat(kDefinitions, "/things.example.com")); },
      1);

  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1]["type"].AsString(), "DELETED");
}

TEST(CustomResources, OpenApiTellsWhatTheDefinitionDescribes) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th",
                                       R"({"a":{"type":"string","description":"Of great use."}})"));

  const std::string document = server.Get("/openapi/v3/apis/example.com/v1").body;

  EXPECT_THAT(document, HasSubstr("A thing."));
  EXPECT_THAT(document, HasSubstr("Of great use."));
  EXPECT_THAT(document, HasSubstr("ThingList is a list of Thing"));
}

TEST(CustomResources, AnUpdateSaysWhichStateItReplaces) {
  TestServer server;
  server.Post(kDefinitions, Definition("things", "Thing", "th"));
  server.Post(kThings, Thing("x", "{}"));

  const Answer put = server.Put(base::StrCat(kThings, "/x"), Thing("x", "{}"));

  EXPECT_EQ(put.status, 422);
  EXPECT_THAT(put.message(), HasSubstr("metadata.resourceVersion: Invalid value: "));
}

TEST(CustomResources, AnObjectOfAnotherKindIsInvalid) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, Definition("things", "Thing", "th")).status, 201);
  ASSERT_EQ(server.Post(kThings, Thing("a", "{}")).status, 201);
  const std::string path = base::StrCat(kThings, "/a");

  const Answer other = server.Post(
      kThings, R"({"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"b"}})");
  EXPECT_EQ(other.message(),
            "Other.example.com \"b\" is invalid: kind: Invalid value: \"Other\": must be Thing");
  const Answer none = server.Post(kThings, R"({"metadata":{"name":"b"}})");
  EXPECT_EQ(none.status, 400);
  EXPECT_EQ(none.message(),
            "the object provided is unrecognized (must be of type Thing): Object 'Kind' is missing "
            "in '{\"metadata\":{\"name\":\"b\"}}' ({\"metadata\":{\"name\":\"b\"}})");
  const Answer foreign =
      server.Post(kThings, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}})");
  EXPECT_EQ(foreign.message(),
            "the API version in the data (v1) does not match the expected API version "
            "(example.com/v1)");
  const Answer patched = server.Patch(path, kMerge, R"({"apiVersion":"example.com/v9"})");
  EXPECT_EQ(
      patched.message(),
      "Thing.example.com \"a\" is invalid: apiVersion: Invalid value: \"example.com/v9\": must "
      "be example.com/v1");
}

}  // namespace
}  // namespace portcullis
