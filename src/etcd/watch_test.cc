// SPDX-License-Identifier: Apache-2.0

// Watches with a real etcd.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "etcd/testing/etcd_server.h"

namespace portcullis::etcd {
namespace {

using testing::DeleteOp;
using testing::EtcdServer;
using testing::Put;
using testing::PutOp;
using testing::Recorder;
using testing::Soon;
using testing::Txn;

class WatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdServer::Available()) GTEST_SKIP() << "there is no program etcd";
    ASSERT_TRUE(server.Start());
    client = Client::Make({.endpoints = {server.endpoint()},
                           .backoff = std::chrono::milliseconds(10),
                           .max_backoff = std::chrono::milliseconds(50)})
                 .value();
  }
  std::unique_ptr<Watch> Start(std::int64_t revision = 0, bool prev_kv = false) {
    auto watch = client->StartWatch({.key = "/w/",
                                     .range_end = PrefixEnd("/w/"),
                                     .start_revision = revision,
                                     .prev_kv = prev_kv},
                                    recorder);
    EXPECT_TRUE(recorder.WaitFor([&] { return !recorder.created.empty() || recorder.end; }));
    return watch;
  }

  EtcdServer server;
  std::unique_ptr<Client> client;
  Recorder recorder;
};

TEST_F(WatchTest, DeliversChangesInOrder) {
  const auto watch = Start();
  const auto one = Put(*client, "/w/a", "one");
  const auto two = Put(*client, "/w/a", "two");
  ASSERT_TRUE(Put(*client, "/elsewhere", "x").ok());
  const auto gone = Txn(*client, {.compares = {}, .success = {DeleteOp("/w/a")}, .failure = {}});

  ASSERT_TRUE(recorder.WaitForEvents(3));
  const auto& events = recorder.all;
  EXPECT_EQ(events[0].kv.value, "one");
  EXPECT_EQ(events[0].kv.mod_revision, one->revision);
  EXPECT_EQ(events[1].kv.value, "two");
  EXPECT_EQ(events[1].kv.create_revision, one->revision);
  EXPECT_EQ(events[1].kv.mod_revision, two->revision);
  EXPECT_FALSE(events[1].previous);
  EXPECT_TRUE(events[2].deleted);
  EXPECT_EQ(events[2].kv.key, "/w/a");
  EXPECT_EQ(events[2].kv.mod_revision, gone->revision);
}

TEST_F(WatchTest, BeginsWithAnOldRevision) {
  const auto one = Put(*client, "/w/a", "one");
  ASSERT_TRUE(Put(*client, "/w/a", "two").ok());

  const auto watch = Start(one->revision, true);

  ASSERT_TRUE(recorder.WaitForEvents(2));
  EXPECT_EQ(recorder.all[0].kv.value, "one");
  ASSERT_TRUE(recorder.all[1].previous);
  EXPECT_EQ(recorder.all[1].previous->value, "one");
}

// etcd hands out a thousand revisions at a time, and tells its newest one with each.
TEST_F(WatchTest, SaysNoMoreThanItHasDelivered) {
  struct Checker : WatchReceiver {
    void OnEvents(std::int64_t revision, std::vector<WatchEvent> events) override {
      if (!events.empty() && revision != events.back().kv.mod_revision) is_ahead = true;
      recorder.OnEvents(revision, std::move(events));
    }
    void OnEnd(base::Status why, std::int64_t compact_revision) override {
      recorder.OnEnd(std::move(why), compact_revision);
    }
    Recorder recorder;
    std::atomic<bool> is_ahead{false};
  } checker;
  constexpr int kPuts = 1200;
  const auto first = Put(*client, "/w/a", "0");
  ASSERT_TRUE(first.ok());
  for (int i = 1; i < kPuts; ++i) ASSERT_TRUE(Put(*client, "/w/a", std::to_string(i)).ok());
  const auto watch = client->StartWatch(
      {.key = "/w/", .range_end = PrefixEnd("/w/"), .start_revision = first->revision}, checker);
  ASSERT_TRUE(checker.recorder.WaitForEvents(kPuts));
  EXPECT_FALSE(checker.is_ahead);
}

TEST_F(WatchTest, DeliversTheChangesOfOneRevisionTogether) {
  const auto watch = Start();
  TxnRequest request;
  const std::string value(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) request.success.push_back(PutOp("/w/" + std::to_string(i), "v"));
  ASSERT_TRUE(Txn(*client, request).ok());

  ASSERT_TRUE(recorder.WaitForEvents(100));
  EXPECT_EQ(recorder.batches, 1U);
}

TEST_F(WatchTest, PutsFragmentsTogether) {
  const auto first = Put(*client, "/w/0", "first");
  const std::string value(1 << 20, 'x');
  for (int i = 1; i < 20; ++i) ASSERT_TRUE(Put(*client, "/w/" + std::to_string(i), value).ok());

  const auto watch = Start(first->revision);

  ASSERT_TRUE(recorder.WaitForEvents(20));
  for (std::size_t i = 1; i < 20; ++i) {
    EXPECT_EQ(recorder.all[i].kv.key, "/w/" + std::to_string(i));
    EXPECT_EQ(recorder.all[i].kv.value.size(), value.size());
  }
}

TEST_F(WatchTest, ReportsProgressWhenAsked) {
  const auto watch = Start();
  const auto put = Put(*client, "/elsewhere", "x");
  ASSERT_TRUE(put.ok());

  watch->RequestProgress();

  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.progress.empty(); }));
  EXPECT_EQ(recorder.progress[0], put->revision);
  EXPECT_TRUE(recorder.all.empty());
}

TEST_F(WatchTest, EndsIfItsRevisionHasBeenCompacted) {
  const auto first = Put(*client, "/w/a", "one");
  const auto second = Put(*client, "/w/a", "two");
  ASSERT_TRUE(Await<Client::Empty>([&](auto done) {
                client->Compact(second->revision, Soon(), std::move(done));
              }).ok());

  const auto watch = Start(first->revision);

  ASSERT_TRUE(recorder.WaitFor([&] { return recorder.end.has_value(); }));
  EXPECT_TRUE(IsCompacted(*recorder.end));
  EXPECT_EQ(recorder.compact_revision, second->revision);
  EXPECT_TRUE(recorder.all.empty());
}

TEST_F(WatchTest, GoesOnAfterTheServerHasBeenKilled) {
  const auto watch = Start();
  ASSERT_TRUE(Put(*client, "/w/a", "one").ok());
  ASSERT_TRUE(recorder.WaitForEvents(1));

  server.Kill();
  ASSERT_TRUE(recorder.WaitFor([&] { return !recorder.interruptions.empty(); }));
  ASSERT_TRUE(server.Start());
  ASSERT_TRUE(Put(*client, "/w/a", "two").ok());
  ASSERT_TRUE(Put(*client, "/w/a", "three").ok());

  ASSERT_TRUE(recorder.WaitForEvents(3));
  EXPECT_EQ(recorder.all[1].kv.value, "two");
  EXPECT_EQ(recorder.all[2].kv.value, "three");
  EXPECT_EQ(recorder.created.size(), 2U);
  EXPECT_FALSE(recorder.end);
}

TEST_F(WatchTest, MissesNothingThatHappensWhileItIsAway) {
  const auto watch = Start();
  const auto first = Put(*client, "/w/a", "1");
  ASSERT_TRUE(recorder.WaitForEvents(1));
  for (int round = 0; round < 3; ++round) {
    server.Kill();
    ASSERT_TRUE(server.Start());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(Put(*client, "/w/a", "x").ok());
  }

  ASSERT_TRUE(recorder.WaitForEvents(31));
  for (std::size_t i = 1; i < recorder.all.size(); ++i) {
    EXPECT_EQ(recorder.all[i].kv.version, recorder.all[i - 1].kv.version + 1);
  }
  EXPECT_EQ(recorder.all.size(), 31U);
}

TEST_F(WatchTest, CallsNothingAfterItsEnd) {
  auto watch = Start();
  watch.reset();
  ASSERT_TRUE(Put(*client, "/w/a", "one").ok());

  EXPECT_TRUE(recorder.all.empty());
  EXPECT_FALSE(recorder.end);
  EXPECT_EQ(client->counters().in_flight, 0U);
}

// Ends the watch while it is called by it.
class Ender final : public WatchReceiver {
 public:
  void OnEvents(std::int64_t, std::vector<WatchEvent>) override {
    watch.reset();
    ended.set_value();
  }
  void OnEnd(base::Status, std::int64_t) override {}
  std::unique_ptr<Watch> watch;
  std::promise<void> ended;
};

TEST_F(WatchTest, MayBeEndedByItsReceiver) {
  Ender ender;
  ender.watch =
      client->StartWatch({.key = "/w/", .range_end = PrefixEnd("/w/"), .start_revision = 1}, ender);
  ASSERT_TRUE(Put(*client, "/w/a", "one").ok());
  ASSERT_TRUE(Put(*client, "/w/a", "two").ok());

  ender.ended.get_future().wait();
  EXPECT_TRUE(Put(*client, "/w/a", "three").ok());
}

TEST_F(WatchTest, ManyAtOnce) {
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 200; ++i) {
    recorders.push_back(std::make_unique<Recorder>());
    watches.push_back(
        client->StartWatch({.key = "/w/", .range_end = PrefixEnd("/w/")}, *recorders.back()));
  }
  for (const auto& each : recorders) {
    ASSERT_TRUE(each->WaitFor([&] { return !each->created.empty(); }));
  }
  ASSERT_TRUE(Put(*client, "/w/a", "one").ok());

  for (const auto& each : recorders) EXPECT_TRUE(each->WaitForEvents(1));
  EXPECT_EQ(client->counters().connections, 1U);
}

}  // namespace
}  // namespace portcullis::etcd
