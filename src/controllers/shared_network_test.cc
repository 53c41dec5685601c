// SPDX-License-Identifier: Apache-2.0

#include "controllers/shared_network.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::controllers {
namespace {

// In memory, with other servers that may be faster.
class FakeAllocation final : public store::RangeAllocation {
 public:
  base::Status Change(const Edit& edit) override {
    while (true) {
      State changed;
      int seen = 0;
      {
        base::MutexLock lock(mutex_);
        changed = state_;
        seen = version_;
      }
      TRY(edit(changed));
      base::MutexLock lock(mutex_);
      if (seen != version_) continue;
      state_ = changed;
      ++version_;
      return base::OkStatus();
    }
  }
  State state() {
    base::MutexLock lock(mutex_);
    return state_;
  }

 private:
  base::Mutex mutex_;
  State state_ PC_GUARDED_BY(mutex_);
  int version_ PC_GUARDED_BY(mutex_) = 0;
};

// Two servers on one store, with few ports.
class SharedNetworkTest : public ::testing::Test {
 protected:
  struct Server {
    explicit Server(SharedNetworkTest& test)
        : network(*registry::ServiceNetwork::Create("10.0.0.0/24", "30000-30019")),
          shared(*test.store_, test.ports_, "30000-30019", *network, test.clock_) {}
    std::unique_ptr<registry::ServiceNetwork> network;
    SharedNetwork shared;
  };
  void StoreService(std::string_view name, int port) {
    const std::string text = base::StrCat(
        R"({"kind":"Service","metadata":{"name":")", name,
        R"(","resourceVersion":""},"spec":{"ports":[{"nodePort":)", std::to_string(port), "}]}}");
    ASSERT_TRUE(store_->Create({"", "services", "n", name}, store::testing::EncodeText(text)).ok());
  }

  bool IsTaken(int port) { return ports_.state().IsTaken(static_cast<std::size_t>(port - 30000)); }

  base::FakeClock clock_;
  FakeAllocation ports_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  Server one_{*this};
  Server two_{*this};
};

TEST_F(SharedNetworkTest, NoPortIsHandedOutTwice) {
  ASSERT_TRUE(one_.shared.Start().ok());
  ASSERT_TRUE(two_.shared.Start().ok());
  base::Mutex mutex;
  std::multiset<int> taken;
  int refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, &server = i % 2 == 0 ? one_ : two_] {
      for (int k = 0; k < 5; ++k) {
        const auto port = server.network->TakeAnyPort();
        base::MutexLock lock(mutex);
        port.ok() ? void(taken.insert(*port)) : void(++refused);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.size(), 20U);
  EXPECT_EQ(std::set<int>(taken.begin(), taken.end()).size(), 20U);
  EXPECT_EQ(refused, 20);
}

TEST_F(SharedNetworkTest, KnowsWhatTheOtherServerTakesAndGivesBack) {
  ASSERT_TRUE(one_.shared.Start().ok());
  ASSERT_TRUE(two_.shared.Start().ok());
  ASSERT_TRUE(one_.network->TakePort(30005).ok());
  EXPECT_EQ(two_.network->TakePort(30005).message(), "provided port is already allocated");
  EXPECT_FALSE(two_.network->CheckPort(30005).ok());
  one_.network->ReleasePort(30005);
  EXPECT_FALSE(IsTaken(30005));
  EXPECT_TRUE(two_.network->TakePort(30005).ok()) << "whatever it knew";
  EXPECT_TRUE(two_.network->CheckPort(30006).ok());

  ASSERT_TRUE(store_
                  ->Create({"networking.k8s.io", "ipaddresses", "", "10.0.0.9"},
                           store::testing::Encode("", "10.0.0.9"))
                  .ok());
  EXPECT_EQ(two_.network->TakeAddress("10.0.0.9").message(), "provided IP is already allocated");
  ASSERT_TRUE(store_->Delete({"networking.k8s.io", "ipaddresses", "", "10.0.0.9"}, {}).ok());
  EXPECT_TRUE(two_.network->TakeAddress("10.0.0.9").ok());
}

TEST_F(SharedNetworkTest, FindsThePortsThatOtherServersGiveBack) {
  ASSERT_TRUE(one_.shared.Start().ok());
  ASSERT_TRUE(two_.shared.Start().ok());
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(one_.network->TakeAnyPort().ok());
  EXPECT_EQ(two_.network->TakeAnyPort().status().message(),
            "Internal error occurred: range is full");
  one_.network->ReleasePort(30013);
  EXPECT_EQ(two_.network->TakeAnyPort().value(), 30013);
  EXPECT_EQ(two_.network->TakeAnyPort().status().message(),
            "Internal error occurred: range is full");
}

TEST_F(SharedNetworkTest, BeginsWithWhatIsStored) {
  StoreService("web", 30007);
  ASSERT_TRUE(one_.shared.Start().ok());
  EXPECT_EQ(ports_.state().range, "30000-30019");
  EXPECT_TRUE(IsTaken(30007));
  EXPECT_FALSE(one_.network->TakePort(30007).ok());
  EXPECT_FALSE(IsTaken(30008));
}

TEST_F(SharedNetworkTest, GivesBackWhatNoServiceHasTheThirdTime) {
  ASSERT_TRUE(one_.shared.Start().ok());
  ASSERT_TRUE(one_.network->TakePort(30008).ok());
  ASSERT_TRUE(one_.network->TakePort(30009).ok());
  ASSERT_TRUE(one_.shared.Repair().ok());
  ASSERT_TRUE(one_.shared.Repair().ok());
  StoreService("late", 30009);
  EXPECT_TRUE(IsTaken(30008)) << "its Service may be on its way";
  ASSERT_TRUE(one_.shared.Repair().ok());
  EXPECT_FALSE(IsTaken(30008));
  EXPECT_TRUE(IsTaken(30009));
  EXPECT_TRUE(one_.network->TakePort(30008).ok());
}

TEST_F(SharedNetworkTest, MakesAnotherRangeItsOwn) {
  StoreService("web", 30007);
  ASSERT_TRUE(one_.shared.Start().ok());
  auto network = *registry::ServiceNetwork::Create("10.0.0.0/24", "30005-30050");
  SharedNetwork other(*store_, ports_, "30005-30050", *network, clock_);
  ASSERT_TRUE(other.Start().ok());
  EXPECT_EQ(ports_.state().range, "30005-30050");
  EXPECT_TRUE(ports_.state().IsTaken(2));
  EXPECT_EQ(one_.network->TakeAnyPort().status().message(),
            "Internal error occurred: the provided range does not match the current range");
}

}  // namespace
}  // namespace portcullis::controllers
