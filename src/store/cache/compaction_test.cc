// SPDX-License-Identifier: Apache-2.0

// How far lists go back in time; watches go back as far as the history.

#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using namespace std::chrono_literals;

class Compaction : public ::testing::Test {
 protected:
  void Open(Options options) {
    options.clock = &clock_;
    store_ = OpenMemory(options);
    for (const char* name : {"a", "b", "c"}) Create(name);
    then_ = store_->revision();
  }
  void Create(std::string_view name) {
    EXPECT_TRUE(store_->Create(testing::ConfigMap("n", name), testing::Encode("n", name)).ok());
  }
  void CreateAfter(base::Duration time, std::string_view name) {
    clock_.Advance(time);
    Create(name);
  }
  base::Status Rest() {
    return store_->ListPage({{"", "configmaps"}, "n", 2, "n/a", then_}).status();
  }

  base::FakeClock clock_;
  std::unique_ptr<Store> store_;
  std::int64_t then_ = 0;
};

TEST_F(Compaction, RefusesAListOfAStateThatWasReplacedLongAgo) {
  Open({});
  const auto watch = store_->StartWatch({{"", "configmaps"}, {}, then_}, [] {});
  CreateAfter(6min, "d");
  CreateAfter(0min, "e");
  EXPECT_TRUE(Rest().ok());
  CreateAfter(4min, "f");
  EXPECT_TRUE(Rest().ok());
  CreateAfter(1min, "g");
  EXPECT_TRUE(Rest().ok());  // it was the newest five minutes before
  CreateAfter(5min, "h");
  EXPECT_EQ(Rest().reason(), base::Reason::kExpired);
  std::vector<EventPtr> events;
  EXPECT_EQ(*(*watch)->Poll(10, events), 5U);
}

TEST_F(Compaction, IsNotWithoutAnInterval) {
  Open({.compaction_interval = 0min});
  CreateAfter(60min, "d");
  CreateAfter(60min, "e");
  CreateAfter(60min, "f");
  EXPECT_TRUE(Rest().ok());
}

// A watch of a namespace goes back to its own events, until there have been so many namespaces that one
// floor stands for all.
TEST_F(Compaction, KeepsTheFloorsOfSoManyNamespaces) {
  Open({.history_events = 2});
  const auto fill = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      const std::string ns = "n" + std::to_string(i);
      EXPECT_TRUE(store_->Create(testing::ConfigMap(ns, "a"), testing::Encode(ns, "a")).ok());
    }
    return store_->StartWatch({{"", "configmaps"}, "quiet", then_}, [] {}).status();
  };
  EXPECT_TRUE(fill(0, 100).ok());
  EXPECT_EQ(fill(100, 10'010).reason(), base::Reason::kExpired);
}

}  // namespace
}  // namespace portcullis::store
