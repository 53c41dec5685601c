// SPDX-License-Identifier: Apache-2.0

// In which order the members of objects are written: kube-apiserver holds custom resources as Go maps,
// which are written sorted by name, everything else as structs.

#include <gtest/gtest.h>

#include <mutex>

#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kThings = "/apis/example.com/v1/namespaces/default/things";
constexpr std::string_view kThing = "/apis/example.com/v1/namespaces/default/things/x";
// Names below apiVersion, and a field that is called as the one that the store fills in.
constexpr std::string_view kBody =
    R"({"kind":"Thing","apiVersion":"example.com/v1","metadata":{"name":"x","labels":{"b":"1",
    "resourceVersion":"7","a":"2"},"finalizers":["example.com/f"]},"spec":{"z":1,"b":[{"y":1,"x":2}]},
    "Alpha":{"resourceVersion":"8"}})";

void Define(TestServer& server) {
  const Answer made =
      server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                  R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",
      "scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[
      {"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
      {"name":"v2","served":true,"storage":false,
       "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}
      ]}})");
  ASSERT_EQ(made.status, 201) << made.body;
}

void ExpectSorted(const Answer& answer, int status) {
  EXPECT_EQ(answer.status, status) << answer.body;
  EXPECT_TRUE(json::IsSorted(answer.document.root())) << answer.body;
  EXPECT_TRUE(answer.body.starts_with(R"({"Alpha":{"resourceVersion":"8"},"apiVersion":"exa)"))
      << answer.body;
}

TEST(MemberOrder, OfCustomResourcesIsThatOfTheirNames) {
  TestServer server([](server::Options& options) { options.store = "sqlite"; });
  Define(server);
  const Answer made = server.Post(kThings, kBody);
  ExpectSorted(made, 201);
  EXPECT_NE(made["metadata"]["resourceVersion"].AsString(), "7");
  EXPECT_EQ(made["metadata"]["labels"]["resourceVersion"].AsString(), "7");
  ExpectSorted(server.Post(base::StrCat(kThings, "?dryRun=All"),
                           R"({"kind":"Thing","apiVersion":"example.com/v1","metadata":
                           {"name":"y"},"Alpha":{"resourceVersion":"8"}})"),
               201);
  const Answer read = server.Get(kThing);
  ExpectSorted(read, 200);
  EXPECT_EQ(read.body, made.body);
  ExpectSorted(server.Get("/apis/example.com/v2/namespaces/default/things/x"), 200);
  ExpectSorted(server.Patch(kThing, "application/merge-patch+json",
                            R"({"spec":{"d":1,"c":2},"metadata":{"annotations":{"b":"","a":""}}})"),
               200);
  ExpectSorted(server.Patch(base::StrCat(kThing, "?fieldManager=m"), "application/apply-patch+yaml",
                            R"({"apiVersion":"example.com/v1","kind":"Thing","spec":{"e":{"b":1,
                            "a":2}},"metadata":{"name":"x"}})"),
               200);
  ExpectSorted(server.Patch(base::StrCat(kThing, "/status"), "application/merge-patch+json",
                            R"({"status":{"b":1,"a":1}})"),
               200);
  ExpectSorted(server.Delete(kThing), 200);
  server.Restart();
  ExpectSorted(server.Get(kThing), 200);
}

TEST(MemberOrder, OfListsOfCustomResourcesToo) {
  TestServer server;
  Define(server);
  ASSERT_EQ(server.Post(kThings, kBody).status, 201);
  const Answer list = server.Get(kThings);
  EXPECT_TRUE(json::IsSorted(list.document.root())) << list.body;
  EXPECT_TRUE(list.body.starts_with(R"({"apiVersion":"example.com/v1","items":[{"Alpha":{)"));
  const std::string_view version = list["metadata"]["resourceVersion"].AsString();
  EXPECT_TRUE(list.body.ends_with(base::StrCat(
      R"(],"kind":"ThingList","metadata":{"continue":"","resourceVersion":")", version, "\"}}\n")))
      << list.body;
  const Answer none = server.Get("/apis/example.com/v1/namespaces/other/things?pretty=true");
  EXPECT_TRUE(none.body.starts_with(
      "{\n  \"apiVersion\": \"example.com/v1\",\n  \"items\": [],\n  \"kind\": \"ThingList\",\n"))
      << none.body;
  const Answer pretty = server.Get(base::StrCat(kThings, "?pretty=true"));
  EXPECT_TRUE(json::IsSorted(pretty.document.root())) << pretty.body;
  EXPECT_EQ(pretty["items"].size(), 1U);
}

TEST(MemberOrder, OfWatchedCustomResourcesToo) {
  TestServer server;
  Define(server);
  ASSERT_EQ(server.Post(kThings, kBody).status, 201);
  const auto lines =
      server.Watch(base::StrCat(kThings,
                                "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&"
                                "resourceVersionMatch=NotOlderThan"),
                   2);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1]["type"].AsString(), "BOOKMARK");
  for (const json::Document& line : lines) EXPECT_TRUE(json::IsSorted(line["object"]));
}

TEST(MemberOrder, OfMetadataAloneIsThatOfItsType) {
  TestServer server;
  Define(server);
  ASSERT_EQ(server.Post(kThings, kBody).status, 201);
  const Answer partial =
      server.Call("GET", kThing, {},
                  {{"Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}});
  EXPECT_TRUE(partial.body.starts_with(
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x",)"
      R"("namespace":"default","uid":")"))
      << partial.body;
  const json::Value entry = partial["metadata"]["managedFields"][std::size_t{0}];
  ASSERT_FALSE(entry.empty());
  EXPECT_EQ(entry.members().front().name(), "manager");
}

TEST(MemberOrder, OfCustomResourcesInReviewsToo) {
  TestServer server;
  Define(server);
  std::mutex mutex;
  std::vector<json::Document> reviews;
  net::testing::TestServer hook([&](const std::shared_ptr<net::Exchange>& exchange) {
    json::Document review = json::ParseDocument(exchange->request().body).value();
    const std::lock_guard lock(mutex);
    reviews.push_back(review);
    exchange->Respond(testing::Allow(review.root()));
  });
  const Answer configured = server.Post(
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
      base::StrCat(R"({"metadata":{"name":"v"},"webhooks":[{"name":"v.example.com",
          "clientConfig":{"url":")",
                   hook.Url("/v"), R"(","caBundle":")",
                   base::Base64Encode(hook.certificates.authority.certificate_pem), R"("},
          "rules":[{"operations":["*"],"apiGroups":["example.com"],"apiVersions":["*"],
          "resources":["*"]}],"sideEffects":"None","admissionReviewVersions":["v1"]}]})"));
  ASSERT_EQ(configured.status, 201) << configured.body;
  ASSERT_EQ(server.Post(kThings, kBody).status, 201);
  ASSERT_EQ(server
                .Patch(kThing, "application/merge-patch+json",
                       R"({"metadata":{"annotations":{"b":"","a":""}},"spec":{"d":1,"c":2}})")
                .status,
            200);
  ASSERT_EQ(reviews.size(), 2U);
  for (const json::Document& review : reviews) {
    EXPECT_TRUE(json::IsSorted(review["request"]["object"]));
    EXPECT_TRUE(json::IsSorted(review["request"]["oldObject"]));
  }
  EXPECT_EQ(reviews[1]["request"]["oldObject"]["metadata"]["name"].AsString(), "x");
}

}  // namespace
}  // namespace portcullis
