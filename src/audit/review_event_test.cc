// SPDX-License-Identifier: Apache-2.0

#include "audit/review_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "audit/redaction.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::audit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReviewEventTest : public ::testing::Test {
 protected:
  // The event of a request; null if there is none.
  json::Value EventOf(std::string_view request) {
    const auto parsed = json::Parse(arena_, request);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    if (!parsed.ok()) return {};
    const auto line = EventOfReview(*parsed, base::WallTime());
    if (!line) return {};
    const auto event = json::Parse(arena_, *line);
    EXPECT_TRUE(event.ok()) << *line;
    return event.ok() ? *event : json::Value();
  }

  json::Arena arena_;
};

TEST_F(ReviewEventTest, HasTheRequestOfACreate) {
  const json::Value event = EventOf(
      R"({"uid":"u","operation":"CREATE","resource":{"group":"apps","version":"v1","resource":"deployments"},
          "namespace":"team","name":"web","options":{"fieldManager":"a b"},
          "userInfo":{"username":"alice","groups":["g"]},"object":{"kind":"Deployment"},"dryRun":false})");
  EXPECT_EQ(event["verb"].AsString(), "create");
  EXPECT_EQ(event["requestURI"].AsString(),
            "/apis/apps/v1/namespaces/team/deployments?fieldManager=a+b");
  EXPECT_EQ(event["objectRef"]["apiGroup"].AsString(), "apps");
  EXPECT_EQ(event["objectRef"]["name"].AsString(), "web");
  EXPECT_EQ(event["user"]["username"].AsString(), "alice");
  EXPECT_EQ(event["requestObject"]["kind"].AsString(), "Deployment");
  EXPECT_FALSE(event.Has("responseStatus"));
  EXPECT_FALSE(event.Has("oldObject"));
}

TEST_F(ReviewEventTest, HasWhatADeletionDeletes) {
  const json::Value event = EventOf(
      R"({"operation":"DELETE","resource":{"group":"rbac.authorization.k8s.io","version":"v1","resource":"clusterroles"},
          "name":"system:node","options":{"kind":"DeleteOptions"},"object":null,"oldObject":{"kind":"ClusterRole"}})");
  EXPECT_EQ(event["verb"].AsString(), "delete");
  EXPECT_EQ(event["requestURI"].AsString(),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node");
  EXPECT_EQ(event["requestObject"]["kind"].AsString(), "DeleteOptions");
  EXPECT_EQ(event["oldObject"]["kind"].AsString(), "ClusterRole");
}

TEST_F(ReviewEventTest, NamesSubresourcesAndNamespaces) {
  const json::Value eviction = EventOf(
      R"({"operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",
          "namespace":"team","name":"p","object":{"kind":"Eviction"}})");
  EXPECT_EQ(eviction["requestURI"].AsString(), "/api/v1/namespaces/team/pods/p/eviction");
  const json::Value ns = EventOf(
      R"({"operation":"UPDATE","resource":{"group":"","version":"v1","resource":"namespaces"},
          "namespace":"team","name":"team","object":{"kind":"Namespace"},"oldObject":{"kind":"Namespace"}})");
  EXPECT_EQ(ns["requestURI"].AsString(), "/api/v1/namespaces/team");
}

TEST_F(ReviewEventTest, DryRunsAndConnectionsAreNone) {
  EXPECT_TRUE(
      EventOf(
          R"({"operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":{},"dryRun":true})")
          .is_null());
  EXPECT_TRUE(
      EventOf(
          R"({"operation":"CONNECT","resource":{"version":"v1","resource":"pods"},"subResource":"exec"})")
          .is_null());
  EXPECT_TRUE(EventOf(R"({"operation":"CREATE"})").is_null());
}

TEST_F(ReviewEventTest, OldSecretsAreRedacted) {
  const auto redaction = Redaction::Create({});
  ASSERT_TRUE(redaction.ok());
  const json::Value event = EventOf(
      R"({"operation":"DELETE","resource":{"group":"","version":"v1","resource":"secrets"},"namespace":"a","name":"s",
          "oldObject":{"kind":"Secret","data":{"key":"c2VjcmV0"}}})");
  const std::string text = json::ToString(redaction->Apply(arena_, event));
  EXPECT_THAT(text, Not(HasSubstr("c2VjcmV0")));
  EXPECT_THAT(text, HasSubstr("\"key\""));
}

}  // namespace
}  // namespace portcullis::audit
