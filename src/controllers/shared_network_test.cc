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

// Two servers on one store, with few ports.
class SharedNetworkTest : public ::testing::Test {
 protected:
  struct Server {
    explicit Server(SharedNetworkTest& test)
        : network(*registry::ServiceNetwork::Create("10.0.0.0/24", "30000-30019")),
          shared(*test.store_, *network, test.clock_) {}
    std::unique_ptr<registry::ServiceNetwork> network;
    SharedNetwork shared;
  };
  void StoreService(std::string_view name, int port) {
    const std::string text = base::StrCat(
        R"({"kind":"Service","metadata":{"name":")", name,
        R"(","resourceVersion":""},"spec":{"ports":[{"nodePort":)", std::to_string(port), "}]}}");
    ASSERT_TRUE(store_->Create({"", "services", "n", name}, store::testing::EncodeText(text)).ok());
  }

  base::FakeClock clock_;
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
  EXPECT_TRUE(two_.network->CheckPort(30005).ok());
  EXPECT_TRUE(two_.network->TakePort(30005).ok());

  ASSERT_TRUE(store_
                  ->Create({"networking.k8s.io", "ipaddresses", "", "10.0.0.9"},
                           store::testing::Encode("", "10.0.0.9"))
                  .ok());
  EXPECT_EQ(two_.network->TakeAddress("10.0.0.9").message(), "provided IP is already allocated");
  ASSERT_TRUE(store_->Delete({"networking.k8s.io", "ipaddresses", "", "10.0.0.9"}, {}).ok());
  EXPECT_TRUE(two_.network->TakeAddress("10.0.0.9").ok());
}

TEST_F(SharedNetworkTest, BeginsWithWhatIsStored) {
  StoreService("web", 30007);
  ASSERT_TRUE(one_.shared.Start().ok());
  ASSERT_TRUE(one_.network->TakePort(30008).ok());
  clock_.Advance(std::chrono::minutes(1));
  ASSERT_TRUE(two_.shared.Start().ok());
  EXPECT_FALSE(two_.network->TakePort(30007).ok());
  EXPECT_FALSE(two_.network->TakePort(30008).ok()) << "its Service may be on its way";
  clock_.Advance(std::chrono::minutes(5));
  Server three(*this);
  ASSERT_TRUE(three.shared.Start().ok());
  EXPECT_FALSE(three.network->TakePort(30007).ok());
  EXPECT_TRUE(three.network->TakePort(30008).ok()) << "it was never stored";
}

}  // namespace
}  // namespace portcullis::controllers
