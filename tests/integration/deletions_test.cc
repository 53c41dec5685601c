// Deleting one object and many: preconditions, grace periods, pages of a collection. Texts are
// those of k8s.io/apiserver.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/time.h"
#include "base/strings.h"
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
  const auto time = api::ParseTime(pod["metadata"]["deletionTimestamp"].AsString());
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

}  // namespace
}  // namespace portcullis
