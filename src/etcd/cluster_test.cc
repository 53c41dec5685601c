// SPDX-License-Identifier: Apache-2.0

// The client with clusters whose members fail.
#include <gtest/gtest.h>

#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "etcd/testing/etcd_server.h"

namespace portcullis::etcd {
namespace {

using testing::EtcdCluster;
using testing::EtcdServer;
using testing::Put;
using testing::Range;
using testing::Recorder;
using testing::Soon;

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdServer::Available()) GTEST_SKIP() << "there is no program etcd";
    ASSERT_TRUE(cluster.Start());
    client = Client::Make({.endpoints = cluster.endpoints(),
                           .ping_after = std::chrono::seconds(1),
                           .ping_timeout = std::chrono::seconds(1),
                           .max_backoff = std::chrono::milliseconds(100)})
                 .value();
  }
  // Which member answers.
  std::string MemberName() {
    const auto status =
        Await<StatusResponse>([&](auto done) { client->Status("", Soon(), std::move(done)); });
    const auto members =
        Await<std::vector<Member>>([&](auto done) { client->MemberList(Soon(), std::move(done)); });
    if (!status.ok() || !members.ok()) return status.status().message();
    for (const Member& member : *members) {
      if (member.id == status->member) return member.name;
    }
    return "";
  }

  EtcdCluster cluster{
      3, {"--heartbeat-interval=50", "--election-timeout=500", "--grpc-keepalive-min-time=100ms"}};
  std::unique_ptr<Client> client;
  Recorder recorder;
};

TEST_F(ClusterTest, GoesOnWithAnotherMemberWhenOneIsKilled) {
  const auto watch = client->StartWatch({.key = "/", .range_end = PrefixEnd("/")}, recorder);
  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.created.empty(); }));
  ASSERT_TRUE(Put(*client, "/a", "one").ok());
  EXPECT_EQ(MemberName(), "m0");

  cluster.member(0).Kill();
  base::Result<TxnResponse> put = Put(*client, "/a", "two");
  while (!put.ok() && (IsUnknownOutcome(put.status()) || IsUnavailable(put.status()))) {
    put = Put(*client, "/a", "two");
  }

  ASSERT_TRUE(put.ok()) << put.status().message();
  EXPECT_EQ(MemberName(), "m1");
  ASSERT_TRUE(recorder.WaitFor([&] { return recorder.all.size() >= 2; }));
  EXPECT_EQ(recorder.all[1].kv.value, "two");
}

TEST_F(ClusterTest, LeavesAMemberThatHangs) {
  const auto watch = client->StartWatch({.key = "/", .range_end = PrefixEnd("/")}, recorder);
  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.created.empty(); }));
  EXPECT_EQ(MemberName(), "m0");
  cluster.member(0).Pause();

  const auto read = Range(*client, {.key = "/a", .range_end = {}});

  EXPECT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(MemberName(), "m1");
  EXPECT_TRUE(Put(*client, "/a", "one").ok());
  EXPECT_TRUE(recorder.WaitForEvents(1));
  ASSERT_EQ(recorder.interruptions.size(), 1U);
  EXPECT_EQ(recorder.interruptions[0].message(),
            "error reading from server: keepalive ping failed to receive ACK within timeout");
  cluster.member(0).Resume();
}

TEST_F(ClusterTest, AWriteOnAMemberThatHangsHasAnUnknownOutcome) {
  EXPECT_EQ(MemberName(), "m0");
  cluster.member(0).Pause();

  const auto put = Put(*client, "/a", "one");

  EXPECT_TRUE(IsUnknownOutcome(put.status()));
  EXPECT_TRUE(IsUnavailable(put.status()));
  cluster.member(0).Resume();
}

TEST_F(ClusterTest, WaitsForALeader) {
  client = Client::Make(
               {.endpoints = cluster.endpoints(), .max_backoff = std::chrono::milliseconds(100)})
               .value();
  const auto watch = client->StartWatch({.key = "/", .range_end = PrefixEnd("/")}, recorder);
  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.created.empty(); }));
  cluster.member(1).Kill();
  cluster.member(2).Kill();
  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.interruptions.empty(); }));
  EXPECT_EQ(recorder.interruptions[0].message(), "etcdserver: no leader");

  const auto refused =
      Range(*client, {.key = "/a", .range_end = {}}, Soon(std::chrono::milliseconds(500)));
  const auto old = Range(*client, {.key = "/a", .range_end = {}, .serializable = true});
  ASSERT_TRUE(cluster.member(1).Start());
  const auto put = Put(*client, "/a", "one");

  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(IsUnknownOutcome(refused.status()));
  EXPECT_TRUE(old.ok()) << old.status().message();
  EXPECT_TRUE(put.ok()) << put.status().message();
  EXPECT_TRUE(recorder.WaitForEvents(1));
}

}  // namespace
}  // namespace portcullis::etcd
