// SPDX-License-Identifier: Apache-2.0

// The wall clock jumps; deadlines, which go by the steady clock, do not.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "harness/jumping_clock.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::JumpingClock;
using testing::TestServer;
using namespace std::chrono_literals;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

// As far back as the certificates that the server makes are valid already.
constexpr std::chrono::seconds kBack = -30min;

std::string ConfigMap(std::string_view name) {
  return base::StrCat(R"({"metadata":{"name":")", name, R"("}})");
}

class ClockJumps : public ::testing::Test {
 protected:
  explicit ClockJumps(const std::function<void(server::Options&)>& adjust = {})
      : server_(adjust, clock_) {}
  Answer Review(std::string_view token) {
    return server_.Post(kTokenReviews, base::StrCat(R"({"spec":{"token":")", token, R"("}})"));
  }
  bool Accepts(std::string_view token) { return Review(token)["status"]["authenticated"].AsBool(); }

  JumpingClock clock_;
  TestServer server_;
};

TEST_F(ClockJumps, TokensAreJudgedByTheTimeItIs) {
  ASSERT_EQ(server_.Post("/api/v1/namespaces/default/serviceaccounts", ConfigMap("a")).status, 201);
  const Answer made = server_.Post("/api/v1/namespaces/default/serviceaccounts/a/token",
                                   R"({"spec":{"expirationSeconds":3600}})");
  const std::string token(made["status"]["token"].AsString());
  ASSERT_TRUE(Accepts(token)) << made.body;
  clock_.JumpTo(2h);
  EXPECT_FALSE(Accepts(token));
  clock_.JumpTo(0s);
  EXPECT_TRUE(Accepts(token));
}

// On the one connection of the client: `401` as of the moment at which the certificate expires.
TEST_F(ClockJumps, CertificatesAreJudgedByTheTimeItIs) {
  ASSERT_EQ(server_.Get(kConfigMaps).status, 200);
  clock_.JumpTo(24h * 366);
  const Answer refused = server_.Get(kConfigMaps);
  EXPECT_EQ(refused.status, 401) << refused.body;
  EXPECT_EQ(refused.message(), "Unauthorized");
  clock_.JumpTo(-2h);
  EXPECT_EQ(server_.Get(kConfigMaps).status, 401);
  clock_.JumpTo(0s);
  EXPECT_EQ(server_.Get(kConfigMaps).status, 200);
}

TEST_F(ClockJumps, WritesKeepTheirOrderWhenTheClockGoesBack) {
  clock_.JumpTo(3h);
  const Answer first = server_.Post(kConfigMaps, ConfigMap("a"));
  clock_.JumpTo(0s);
  const Answer second = server_.Post(kConfigMaps, ConfigMap("b"));
  ASSERT_EQ(second.status, 201) << second.body;
  EXPECT_LT(second["metadata"]["creationTimestamp"].AsString(),
            first["metadata"]["creationTimestamp"].AsString());
  EXPECT_GT(base::ParseInt(second["metadata"]["resourceVersion"].AsString()),
            base::ParseInt(first["metadata"]["resourceVersion"].AsString()));
  const Answer changed = server_.Patch(base::StrCat(kConfigMaps, "/a"),
                                       "application/merge-patch+json", R"({"data":{"a":"1"}})");
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed["metadata"]["creationTimestamp"].AsString(),
            first["metadata"]["creationTimestamp"].AsString());
}

TEST_F(ClockJumps, WatchesLiveThroughThem) {
  server_.Post(kConfigMaps, ConfigMap("before"));
  const auto events = server_.Watch(
      base::StrCat(kConfigMaps,
                   "?watch=1&timeoutSeconds=600&fieldSelector=metadata.name%21%3Dkube-root-ca.crt"),
      3,
      [&] {
        clock_.JumpTo(2h);
        server_.Post(kConfigMaps, ConfigMap("ahead"));
        clock_.JumpTo(0s);
        server_.Post(kConfigMaps, ConfigMap("back"));
      },
      1);
  ASSERT_EQ(events.size(), 3U);
  std::vector<std::string> names;
  for (const auto& event : events) {
    names.emplace_back(event["object"]["metadata"]["name"].AsString());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"before", "ahead", "back"}));
}

TEST_F(ClockJumps, WatchesEndAtTheirTime) {
  const auto begun = base::SystemClock().Steady();
  const auto events = server_.Watch(base::StrCat(kConfigMaps, "?watch=1&timeoutSeconds=1"), 1,
                                    [&] { clock_.JumpTo(kBack); });
  EXPECT_EQ(events.size(), 0U);
  EXPECT_GE(base::SystemClock().Steady() - begun, 1s);
}

TEST_F(ClockJumps, TheServersLeaseIsItsOwnAfterThem) {
  constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  std::string name;
  for (const std::chrono::seconds offset : {0h, 100h, -100h}) {
    clock_.JumpTo(offset);
    server_.Restart();
    const auto events =
        server_.Watch(base::StrCat(kLeases, "?watch=1&timeoutSeconds=60&resourceVersion=0"), 1);
    ASSERT_EQ(events.size(), 1U);
    const std::string_view found = events[0]["object"]["metadata"]["name"].AsString();
    if (name.empty()) name = found;
    EXPECT_EQ(found, name);
    const auto renewed = events[0]["object"]["spec"]["renewTime"].AsString();
    EXPECT_LE(renewed, base::FormatMicroTime(clock_.Now()));
    EXPECT_GE(renewed, base::FormatMicroTime(clock_.Now() - 1h));
  }
}

class ExpiringEvents : public ClockJumps {
 protected:
  static constexpr std::string_view kEvents = "/api/v1/namespaces/default/events";

  ExpiringEvents() : ClockJumps([](server::Options& options) { options.event_ttl = 10s; }) {}
  static std::string Event(std::string_view name) {
    return base::StrCat(R"({"metadata":{"name":")", name,
                        R"("},"involvedObject":{"kind":"Pod","name":"a","namespace":"default"},)",
                        R"("reason":"Because","type":"Normal"})");
  }
};

TEST_F(ExpiringEvents, AreDeletedByTheTimeThatPasses) {
  ASSERT_EQ(server_.Post(kEvents, Event("jumped")).status, 201);
  const auto events = server_.Watch(
      base::StrCat(kEvents, "?watch=1&timeoutSeconds=300"), 2,
      [&] {
        clock_.JumpTo(100h);
        clock_.JumpTo(kBack);
        clock_.Pass(10s);
      },
      1);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[1]["type"].AsString(), "DELETED");
  EXPECT_EQ(events[1]["object"]["metadata"]["name"].AsString(), "jumped");
  EXPECT_GT(base::ParseInt(events[1]["object"]["metadata"]["resourceVersion"].AsString()),
            base::ParseInt(events[0]["object"]["metadata"]["resourceVersion"].AsString()));
  EXPECT_EQ(server_.Get(base::StrCat(kEvents, "/jumped")).status, 404);
}

TEST_F(ClockJumps, ARestartInThePastServesOn) {
  ASSERT_EQ(server_.Post(kConfigMaps, ConfigMap("a")).status, 201);
  clock_.JumpTo(-2h);
  server_.Restart();
  EXPECT_EQ(server_.Post(kConfigMaps, ConfigMap("b")).status, 201);
}

}  // namespace
}  // namespace portcullis
