// SPDX-License-Identifier: Apache-2.0

#include "controllers/leader_election.h"

#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/testing/fake_clock.h"
#include "json/writer.h"
#include "store/etcd/value.h"
#include "store/memory/memory_store.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;

// Writes Leases into a store as the API does: an update names the revision it is about.
class LeaseClient final : public Client {
 public:
  explicit LeaseClient(store::Store& store) : store_(store) {}

  base::Result<store::ObjectPtr> Do(const Request& request) override {
    if (fails) return base::InternalError("no store");
    json::Arena arena;
    const std::string name(request.body["metadata"]["name"].AsString());
    const std::string_view version = request.body["metadata"]["resourceVersion"].AsString();
    std::int64_t revision = 0;
    std::from_chars(version.data(), version.data() + version.size(), revision);
    const json::Value body = json::RemovePath(arena, request.body, {"metadata", "resourceVersion"});
    store::Encoded encoded = TRY(store::FromEtcdValue(json::ToString(body)));
    const store::Key key{request.resource.group, request.resource.resource, request.ns, name};
    if (request.verb == engine::Verb::kCreate) return store_.Create(key, std::move(encoded));
    store::Preconditions wanted;
    wanted.revision = revision;
    return store_.Update(key, std::move(encoded), wanted);
  }

  bool fails = false;

 private:
  store::Store& store_;
};

class LeaderElectionTest : public ::testing::Test {
 protected:
  struct Server {
    Server(LeaderElectionTest& test, std::string identity)
        : client(*test.store_),
          election(
              {.lease = "l", .identity = std::move(identity)}, client, *test.store_, test.clock_,
              [] {}, [] {}) {}
    LeaseClient client;
    LeaderElection election;
  };
  json::Value Spec() {
    lease_ = store_->Get({"coordination.k8s.io", "leases", "kube-system", "l"});
    return lease_->document().root()["spec"];
  }

  base::FakeClock clock_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  store::ObjectPtr lease_;
  Server one_{*this, "one"};
  Server two_{*this, "two"};
};

TEST_F(LeaderElectionTest, OneServerHoldsTheLease) {
  EXPECT_TRUE(one_.election.Try());
  EXPECT_FALSE(two_.election.Try());
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(2s);
    EXPECT_TRUE(one_.election.Try());
    EXPECT_FALSE(two_.election.Try());
  }
  EXPECT_EQ(Spec()["holderIdentity"].AsString(), "one");
  EXPECT_EQ(Spec()["leaseTransitions"].AsInt(), 0);
  EXPECT_EQ(Spec()["leaseDurationSeconds"].AsInt(), 15);
}

TEST_F(LeaderElectionTest, AnotherTakesItOverWhenItIsNotRenewed) {
  EXPECT_TRUE(one_.election.Try());
  clock_.Advance(60s);
  EXPECT_FALSE(two_.election.Try())
      << "it has only just seen the Lease, whose times it does not trust";
  clock_.Advance(14s);
  EXPECT_FALSE(two_.election.Try());
  clock_.Advance(1s);
  EXPECT_TRUE(two_.election.Try());
  EXPECT_FALSE(one_.election.Try());
  EXPECT_EQ(Spec()["holderIdentity"].AsString(), "two");
  EXPECT_EQ(Spec()["leaseTransitions"].AsInt(), 1);
}

TEST_F(LeaderElectionTest, AHolderThatStopsGivesItUp) {
  std::atomic<int> started = 0;
  std::atomic<int> stopped = 0;
  {
    LeaderElection election(
        {.lease = "l", .identity = "three"}, one_.client, *store_, base::SystemClock(),
        [&] { ++started; }, [&] { ++stopped; });
    election.Start();
    while (started == 0) std::this_thread::yield();
    election.Stop();
  }
  EXPECT_EQ(started, 1);
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(Spec()["holderIdentity"].AsString(), "");
  EXPECT_TRUE(two_.election.Try());
}

// A client whose second write waits until it is let go.
class HangingClient final : public Client {
 public:
  explicit HangingClient(store::Store& store) : client_(store) {}
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    if (++writes_ == 2) let_go.get_future().wait();
    return client_.Do(request);
  }
  std::promise<void> let_go;

 private:
  LeaseClient client_;
  int writes_ = 0;
};

TEST_F(LeaderElectionTest, TheWorkEndsInTimeWhileTheRenewalHangs) {
  HangingClient client(*store_);
  std::promise<void> stopped;
  bool is_told = false;
  const auto stop = [&] {
    if (!std::exchange(is_told, true)) stopped.set_value();
  };
  LeaderElection election(
      {.lease = "l", .identity = "three", .renew_deadline = 1s, .retry = 0s}, client, *store_,
      base::SystemClock(), [] {}, stop);
  election.Start();
  EXPECT_EQ(stopped.get_future().wait_for(20s), std::future_status::ready);
  client.let_go.set_value();
}

TEST_F(LeaderElectionTest, FailsWithoutAStore) {
  EXPECT_TRUE(one_.election.Try());
  one_.client.fails = true;
  EXPECT_FALSE(one_.election.Try());
  one_.client.fails = false;
  EXPECT_TRUE(one_.election.Try());
}

}  // namespace
}  // namespace portcullis::controllers
