// SPDX-License-Identifier: Apache-2.0

// An etcd in whose place an older copy of its data has been put while the store is open.

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "store/etcd/etcd_store.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;
using testing::Names;

class SetBack : public ::testing::Test {
 protected:
  // The store knows an object "ghost", and "same" of another revision and content, which the copy has not.
  void SetUp() override {
    EtcdOptions options;
    options.clock = &base::SystemClock();
    options.client.endpoints = {"fake"};
    options.request_timeout = std::chrono::seconds(20);
    store = *OpenEtcd(etcd.MakeClient(), options, {});
    ASSERT_TRUE(Create("kept").ok());
    const auto copy = etcd.Copy();
    ASSERT_TRUE(Create("same", "old").ok());
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Create("ghost-" + std::to_string(i)).ok());
    watch = *store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
    etcd.SetBack(copy);
  }
  base::Status Create(std::string_view name, std::string_view value = "v") {
    return store->Create(ConfigMap("n", name), Encode("n", name, value)).status();
  }
  base::Status Freshen() {
    std::promise<base::Status> done;
    store->Freshen(base::SystemClock().Steady() + std::chrono::seconds(20),
                   [&](base::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }
  std::vector<std::string> All() { return Names(store->List({"", "configmaps"})); }

  testing::FakeEtcd etcd;
  std::unique_ptr<EtcdStore> store;
  std::unique_ptr<Watch> watch;
};

TEST_F(SetBack, IsSeenByARequestThatBegins) {
  ASSERT_TRUE(Freshen().ok());
  EXPECT_EQ(All(), std::vector<std::string>{"n/kept"});
  EXPECT_EQ(store->revision(), etcd.revision());
  std::vector<EventPtr> events;
  EXPECT_EQ(watch->Poll(10, events).status().reason(), base::Reason::kExpired);
  ASSERT_TRUE(Create("new").ok());
  ASSERT_TRUE(Freshen().ok());
  EXPECT_EQ(All(), (std::vector<std::string>{"n/kept", "n/new"}));
}

TEST_F(SetBack, IsSeenByAWrite) {
  ASSERT_TRUE(Create("new").ok());
  EXPECT_EQ(All(), (std::vector<std::string>{"n/kept", "n/new"}));
  EXPECT_EQ(store->revision(), etcd.revision());
}

TEST_F(SetBack, IsSeenByTheDeletionOfWhatIsGone) {
  EXPECT_EQ(store->Delete(ConfigMap("n", "ghost-0"), {}).status().reason(),
            base::Reason::kNotFound);
}

TEST_F(SetBack, IsSeenWhenTheWatchIsConnectedAgain) {
  etcd.Reconnect();
  while (store->revision() > etcd.revision()) std::this_thread::yield();
  EXPECT_EQ(All(), std::vector<std::string>{"n/kept"});
}

TEST_F(SetBack, IsSeenWhenTheWatchIsOver) {
  etcd.CancelWatches();
  while (store->revision() > etcd.revision()) std::this_thread::yield();
  ASSERT_TRUE(Create("new").ok());
  EXPECT_EQ(All(), (std::vector<std::string>{"n/kept", "n/new"}));
}

TEST_F(SetBack, EndsWatchesThatAskLateAndReplacesWhatHasTheSameRevision) {
  etcd.Put("/registry/configmaps/n/same", R"({"metadata":{"name":"same"},"data":{"value":"new"}})");
  ASSERT_TRUE(Freshen().ok());
  const ObjectPtr same = store->Get(ConfigMap("n", "same"));
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->document()["data"]["value"].AsString(), "new");
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Create("new-" + std::to_string(i)).ok());
  std::vector<EventPtr> events;
  EXPECT_EQ(watch->Poll(10, events).status().reason(), base::Reason::kExpired);
  watch = *store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
  ASSERT_TRUE(Create("last").ok());
  EXPECT_EQ(*watch->Poll(10, events), 1U);
}

TEST_F(SetBack, ReadsOfOtherKeysGoOn) {
  ASSERT_TRUE(Freshen().ok());
  for (int i = 0; i < 5; ++i) {
    const std::int64_t revision = etcd.Put("elsewhere", std::to_string(i));
    ASSERT_TRUE(Freshen().ok());
    EXPECT_EQ(store->revision(), revision);
  }
}

}  // namespace
}  // namespace portcullis::store
