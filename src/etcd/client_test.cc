// SPDX-License-Identifier: Apache-2.0

// The client with a real etcd.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "etcd/client.h"
#include "etcd/testing/calls.h"
#include "etcd/testing/etcd_server.h"

namespace portcullis::etcd {
namespace {

using testing::DeleteOp;
using testing::EtcdServer;
using testing::Put;
using testing::PutOp;
using testing::Range;
using testing::RangeOp;
using testing::Recorder;
using testing::Soon;
using testing::Txn;

// One server for all tests, each with keys of its own.
class ClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!EtcdServer::Available()) return;
    server = std::make_unique<EtcdServer>();
    started = server->Start();
  }
  static void TearDownTestSuite() { server.reset(); }
  void SetUp() override {
    if (server == nullptr) GTEST_SKIP() << "there is no program etcd";
    ASSERT_TRUE(started);
    auto made = Client::Make({.endpoints = {server->endpoint()}});
    ASSERT_TRUE(made.ok()) << made.status().message();
    client = std::move(made).value();
    prefix =
        std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
  }

  static std::unique_ptr<EtcdServer> server;
  static bool started;
  std::unique_ptr<Client> client;
  std::string prefix;
};

std::unique_ptr<EtcdServer> ClientTest::server;
bool ClientTest::started = false;

TEST_F(ClientTest, ReadsWhatIsNotThere) {
  const auto answer = Range(*client, {.key = prefix + "a", .range_end = {}});

  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_GT(answer->revision, 0);
  EXPECT_TRUE(answer->kvs.empty());
  EXPECT_EQ(answer->count, 0);
}

TEST_F(ClientTest, WritesAndReads) {
  const auto put = Put(*client, prefix + "a", "one");
  ASSERT_TRUE(put.ok()) << put.status().message();
  EXPECT_TRUE(put->succeeded);

  const auto answer = Range(*client, {.key = prefix + "a", .range_end = {}});

  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->kvs.size(), 1U);
  EXPECT_EQ(answer->kvs[0], (KeyValue{.key = prefix + "a",
                                      .value = "one",
                                      .create_revision = put->revision,
                                      .mod_revision = put->revision,
                                      .version = 1}));
}

TEST_F(ClientTest, ReadsRangesInPages) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Put(*client, prefix + name, name).ok());

  const auto first = Range(*client, {.key = prefix, .range_end = PrefixEnd(prefix), .limit = 2});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->more);
  EXPECT_EQ(first->count, 3);
  ASSERT_EQ(first->kvs.size(), 2U);
  ASSERT_TRUE(Put(*client, prefix + "c", "later").ok());
  const auto second = Range(*client, {.key = first->kvs[1].key + '\0',
                                      .range_end = PrefixEnd(prefix),
                                      .limit = 2,
                                      .revision = first->revision});

  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->more);
  ASSERT_EQ(second->kvs.size(), 1U);
  EXPECT_EQ(second->kvs[0].value, "c");
}

TEST_F(ClientTest, CreatesOnlyWhatIsNotThere) {
  TxnRequest create;
  create.compares.push_back({.key = prefix + "a", .number = 0});
  create.success.push_back(PutOp(prefix + "a", "one"));
  create.failure.push_back(RangeOp(prefix + "a"));

  const auto first = Txn(*client, create);
  const auto second = Txn(*client, create);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->succeeded);
  EXPECT_FALSE(second->succeeded);
  EXPECT_EQ(second->revision, first->revision);
  ASSERT_EQ(second->responses.size(), 1U);
  EXPECT_EQ(second->responses[0].kind, Op::Kind::kRange);
  ASSERT_EQ(second->responses[0].kvs.size(), 1U);
  EXPECT_EQ(second->responses[0].kvs[0].value, "one");
}

TEST_F(ClientTest, ChangesOnlyTheRevisionThatWasRead) {
  const std::string key = prefix + "a";
  const auto put = Put(*client, key, "one");
  ASSERT_TRUE(put.ok());
  TxnRequest update;
  update.compares.push_back({.key = key, .number = put->revision});
  update.success.push_back(
      {.kind = Op::Kind::kPut, .key = key, .range_end = {}, .value = "two", .prev_kv = true});
  update.success.push_back(
      {.kind = Op::Kind::kDelete, .key = prefix + "b", .range_end = {}, .value = {}});
  update.failure.push_back(RangeOp(key));

  const auto first = Txn(*client, update);
  const auto second = Txn(*client, update);

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->succeeded);
  ASSERT_EQ(first->responses.size(), 2U);
  EXPECT_EQ(first->responses[0].kind, Op::Kind::kPut);
  ASSERT_EQ(first->responses[0].kvs.size(), 1U);
  EXPECT_EQ(first->responses[0].kvs[0].value, "one");
  EXPECT_EQ(first->responses[1].kind, Op::Kind::kDelete);
  EXPECT_EQ(first->responses[1].count, 0);
  EXPECT_FALSE(second->succeeded);
  EXPECT_EQ(second->responses[0].kvs[0].version, 2);
}

TEST_F(ClientTest, DeletesRangesAndShowsWhatWasThere) {
  for (const char* name : {"a", "b"}) ASSERT_TRUE(Put(*client, prefix + name, name).ok());
  Op op = DeleteOp(prefix, PrefixEnd(prefix));
  op.prev_kv = true;

  const auto answer = Txn(*client, {.compares = {}, .success = {op}, .failure = {}});

  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->responses[0].count, 2);
  ASSERT_EQ(answer->responses[0].kvs.size(), 2U);
  EXPECT_EQ(answer->responses[0].kvs[1].value, "b");
}

TEST_F(ClientTest, ComparesVersions) {
  ASSERT_TRUE(Put(*client, prefix + "a", "one").ok());
  TxnRequest request;
  request.compares.push_back(
      {.key = prefix + "a", .number = 1, .target = Compare::Target::kVersion});
  request.success.push_back(PutOp(prefix + "a", "two"));

  EXPECT_TRUE(Txn(*client, request)->succeeded);
  EXPECT_FALSE(Txn(*client, request)->succeeded);
}

TEST_F(ClientTest, CarriesLargeAnswers) {
  const std::string value(1 << 20, 'x');
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Put(*client, prefix + std::to_string(i), value).ok());
  }

  const auto answer = Range(*client, {.key = prefix, .range_end = PrefixEnd(prefix)});

  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->kvs.size(), 40U);
  for (const KeyValue& kv : answer->kvs) EXPECT_EQ(kv.value.size(), value.size());
}

TEST_F(ClientTest, RefusesLargeRequestsAsGoDoes) {
  const auto answer = Put(*client, prefix + "a", std::string(2 << 20, 'x'));

  EXPECT_EQ(CodeOf(answer.status()), Code::kResourceExhausted);
  EXPECT_FALSE(IsUnknownOutcome(answer.status()));
  EXPECT_TRUE(answer.status().message().starts_with("trying to send message larger than max ("))
      << answer.status().message();
  EXPECT_TRUE(answer.status().message().ends_with(" vs. 2097152)")) << answer.status().message();
}

TEST_F(ClientTest, EndsAnswersAboveTheLimit) {
  client = Client::Make({.endpoints = {server->endpoint()}, .max_response_bytes = 100}).value();
  ASSERT_TRUE(Put(*client, prefix + "a", std::string(200, 'x')).ok());

  const auto answer = Range(*client, {.key = prefix + "a", .range_end = {}});

  EXPECT_EQ(CodeOf(answer.status()), Code::kResourceExhausted);
  EXPECT_TRUE(Range(*client, {.key = prefix + "b", .range_end = {}}).ok());
}

TEST_F(ClientTest, ReportsEtcdsErrors) {
  const auto answer = Range(*client, {.key = "a", .range_end = {}, .revision = 1 << 30});

  EXPECT_EQ(CodeOf(answer.status()), Code::kOutOfRange);
  EXPECT_EQ(answer.status().message(), "etcdserver: mvcc: required revision is a future revision");
  EXPECT_FALSE(IsCompacted(answer.status()));
}

TEST_F(ClientTest, Compacts) {
  const auto first = Put(*client, prefix + "a", "one");
  const auto second = Put(*client, prefix + "a", "two");
  ASSERT_TRUE(first.ok() && second.ok());

  const auto compaction = Await<Client::Empty>(
      [&](auto done) { client->Compact(second->revision, Soon(), std::move(done)); });
  const auto again = Await<Client::Empty>(
      [&](auto done) { client->Compact(second->revision, Soon(), std::move(done)); });
  const auto old =
      Range(*client, {.key = prefix + "a", .range_end = {}, .revision = first->revision});

  EXPECT_TRUE(compaction.ok()) << compaction.status().message();
  EXPECT_TRUE(IsCompacted(again.status()));
  EXPECT_TRUE(IsCompacted(old.status()));
}

TEST_F(ClientTest, GrantsKeepsAndRevokesLeases) {
  const auto lease = Await<LeaseGrantResponse>(
      [&](auto done) { client->LeaseGrant(1000, Soon(), std::move(done)); });
  ASSERT_TRUE(lease.ok()) << lease.status().message();
  EXPECT_EQ(lease->ttl, 1000);
  ASSERT_TRUE(Put(*client, prefix + "a", "one", lease->id).ok());
  EXPECT_EQ(Range(*client, {.key = prefix + "a", .range_end = {}})->kvs[0].lease, lease->id);

  const auto keep = [&] {
    return Await<LeaseGrantResponse>(
        [&](auto done) { client->LeaseKeepAlive(lease->id, Soon(), std::move(done)); });
  };
  const auto revoke = [&] {
    return Await<Client::Empty>(
        [&](auto done) { client->LeaseRevoke(lease->id, Soon(), std::move(done)); });
  };
  const auto kept = keep();
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(kept->id, lease->id);
  EXPECT_EQ(kept->ttl, 1000);
  EXPECT_TRUE(revoke().ok());

  EXPECT_TRUE(Range(*client, {.key = prefix + "a", .range_end = {}})->kvs.empty());
  EXPECT_TRUE(IsLeaseNotFound(keep().status()));
  EXPECT_TRUE(IsLeaseNotFound(revoke().status()));
  const auto put = Put(*client, prefix + "b", "one", lease->id);
  EXPECT_TRUE(IsLeaseNotFound(put.status())) << put.status().message();
  EXPECT_FALSE(IsUnknownOutcome(put.status()));
}

TEST_F(ClientTest, TellsTheStatusOfMembers) {
  for (const std::string& endpoint : {std::string(), server->endpoint()}) {
    const auto status = Await<StatusResponse>(
        [&](auto done) { client->Status(endpoint, Soon(), std::move(done)); });

    ASSERT_TRUE(status.ok()) << status.status().message();
    EXPECT_TRUE(status->version.starts_with("3.")) << status->version;
    EXPECT_NE(status->leader, 0U);
    EXPECT_EQ(status->leader, status->member);
    EXPECT_GT(status->db_size, 0);
    EXPECT_FALSE(status->is_learner);
  }
}

TEST_F(ClientTest, ListsMembers) {
  const auto members =
      Await<std::vector<Member>>([&](auto done) { client->MemberList(Soon(), std::move(done)); });

  ASSERT_TRUE(members.ok()) << members.status().message();
  ASSERT_EQ(members->size(), 1U);
  EXPECT_EQ((*members)[0].name, "one");
  EXPECT_EQ((*members)[0].client_urls, std::vector<std::string>{server->endpoint()});
  EXPECT_NE((*members)[0].id, 0U);
}

TEST_F(ClientTest, CarriesManyCallsFromSeveralThreadsOnOneConnection) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 250;  // etcd itself gives a transaction up after seven seconds
  std::mutex mutex;
  std::condition_variable condition;
  int good = 0;
  int done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        const std::string key = prefix + std::to_string(t) + "/" + std::to_string(i);
        client->Txn({.compares = {{.key = key, .number = 0}},
                     .success = {PutOp(key, "value")},
                     .failure = {}},
                    Soon(std::chrono::seconds(60)), [&](const base::Result<TxnResponse>& answer) {
                      const std::lock_guard<std::mutex> lock(mutex);
                      good += answer.ok() && answer->succeeded ? 1 : 0;
                      if (++done == kThreads * kCalls) condition.notify_all();
                    });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::unique_lock<std::mutex> lock(mutex);
  condition.wait(lock, [&] { return done == kThreads * kCalls; });

  EXPECT_EQ(good, kThreads * kCalls);
  EXPECT_EQ(client->counters().connections, 1U);
  EXPECT_EQ(client->counters().calls, static_cast<std::uint64_t>(kThreads * kCalls));
}

TEST_F(ClientTest, ADeadlineThatHasPassedEndsTheCall) {
  ASSERT_TRUE(Range(*client, {.key = "a", .range_end = {}}).ok());

  const auto read = Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::seconds(-1)));
  const auto write = Txn(*client, {.compares = {}, .success = {PutOp("a", "b")}, .failure = {}},
                         Soon(std::chrono::seconds(-1)));

  EXPECT_EQ(CodeOf(read.status()), Code::kDeadlineExceeded);
  EXPECT_EQ(read.status().message(), "context deadline exceeded");
  EXPECT_FALSE(IsUnknownOutcome(read.status()));
  EXPECT_EQ(CodeOf(write.status()), Code::kDeadlineExceeded);
}

TEST_F(ClientTest, DestroyingTheClientEndsCalls) {
  std::vector<base::Status> ends;
  server->Pause();
  for (int i = 0; i < 3; ++i) {
    client->Range(
        {.key = "a", .range_end = {}}, Soon(),
        [&](const base::Result<RangeResponse>& answer) { ends.push_back(answer.status()); });
  }
  client.reset();
  server->Resume();

  ASSERT_EQ(ends.size(), 3U);
  for (const base::Status& end : ends) {
    EXPECT_EQ(CodeOf(end), Code::kCanceled);
    EXPECT_EQ(end.message(), "context canceled");
  }
}

TEST_F(ClientTest, ACallThatBeginsWhileTheClientIsDestroyedEnds) {
  std::optional<base::Status> end;
  Client* const dying = client.get();
  server->Pause();
  dying->Range({.key = "a", .range_end = {}}, Soon(), [&](const auto&) {
    dying->Range({.key = "b", .range_end = {}}, Soon(),
                 [&](const base::Result<RangeResponse>& answer) { end = answer.status(); });
  });
  client.reset();
  server->Resume();

  ASSERT_TRUE(end);
  EXPECT_EQ(CodeOf(*end), Code::kCanceled);
}

TEST_F(ClientTest, CancelEndsCallsUnderWayAndThoseThatComeLater) {
  server->Pause();
  auto waiting =
      std::async(std::launch::async, [&] { return Range(*client, {.key = "a", .range_end = {}}); });
  while (client->counters().in_flight == 0) std::this_thread::yield();
  client->Cancel();
  EXPECT_EQ(CodeOf(waiting.get().status()), Code::kCanceled);
  EXPECT_EQ(CodeOf(Range(*client, {.key = "a", .range_end = {}}).status()), Code::kCanceled);
  server->Resume();
}

TEST(ClientOptionsTest, RefusesWhatIsNoEndpoint) {
  for (const char* endpoint :
       {"", "http://", "ftp://a:1", "http://a:1/path", "https://user@a:1", "http://a:1?x"}) {
    const auto client = Client::Make({.endpoints = {endpoint}});

    ASSERT_FALSE(client.ok()) << endpoint;
    EXPECT_TRUE(client.status().message().starts_with("etcd endpoint \"")) << endpoint;
  }
  EXPECT_FALSE(Client::Make({}).ok());
}

TEST(ClientOptionsTest, NamesTheFileThatIsMissing) {
  const auto client =
      Client::Make({.endpoints = {"https://127.0.0.1:1"}, .ca_file = "/nowhere/ca.pem"});

  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().message(), "open /nowhere/ca.pem: no such file or directory");
}

TEST(ClientOptionsTest, SaysWhyThereIsNoConnection) {
  const int port = EtcdServer::FreePort();
  const auto client =
      Client::Make({.endpoints = {"http://127.0.0.1:" + std::to_string(port)}}).value();

  const auto answer =
      Range(*client, {.key = "a", .range_end = {}}, Soon(std::chrono::milliseconds(300)));

  EXPECT_TRUE(IsUnavailable(answer.status()));
  EXPECT_EQ(answer.status().message(),
            "connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:" +
                std::to_string(port) + ": connect: connection refused\"");
}

TEST(PrefixEndTest, IsTheFirstKeyBehindThePrefix) {
  EXPECT_EQ(PrefixEnd("/registry/"), "/registry0");
  EXPECT_EQ(PrefixEnd("a\xff"), "b");
  EXPECT_EQ(PrefixEnd(""), std::string(1, '\0'));
  EXPECT_EQ(PrefixEnd("\xff"), std::string(1, '\0'));
}

}  // namespace
}  // namespace portcullis::etcd
