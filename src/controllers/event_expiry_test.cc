// SPDX-License-Identifier: Apache-2.0

#include "controllers/event_expiry.h"

#include <gtest/gtest.h>

#include "base/testing/fake_clock.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::controllers {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

class EventExpiryTest : public ::testing::Test {
 protected:
  static store::Key Event(std::string_view name) { return {"", "events", "default", name}; }
  void Create(std::string_view name) {
    ASSERT_TRUE(store_->Create(Event(name), store::testing::Encode("default", name)).ok());
  }
  void Update(std::string_view name) {
    ASSERT_TRUE(store_->Update(Event(name), store::testing::Encode("default", name, "2"), {}).ok());
  }
  void Delete(std::string_view name) { ASSERT_TRUE(store_->Delete(Event(name), {}).ok()); }
  Strings Left() { return store::testing::Names(store_->List({"", "events"})); }

  base::FakeClock clock_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  EventExpiry expiry_{*store_, clock_, 1h};
};

TEST_F(EventExpiryTest, DeletesEventsAfterTheirTime) {
  expiry_.Watch();
  Create("early");
  clock_.Advance(30min);
  Create("late");
  clock_.Advance(29min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/early", "default/late"}));
  clock_.Advance(1min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/late"}));
  clock_.Advance(30min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), Strings());
}

TEST_F(EventExpiryTest, AWriteBeginsTheTimeAnew) {
  expiry_.Watch();
  Create("a");
  Create("b");
  clock_.Advance(59min);
  Update("a");
  clock_.Advance(1min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/a"}));
  clock_.Advance(59min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), Strings());
}

TEST_F(EventExpiryTest, AnEventCreatedAgainHasAllItsTime) {
  expiry_.Watch();
  Create("a");
  clock_.Advance(59min);
  Delete("a");
  Create("a");
  clock_.Advance(2min);
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/a"}));
}

TEST_F(EventExpiryTest, EventsThatAreThereWhenItStartsHaveTheirTimeFromThen) {
  Create("old");
  clock_.Advance(5h);
  expiry_.Watch();
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/old"}));
  clock_.Advance(1h);
  expiry_.Sweep();
  EXPECT_EQ(Left(), Strings());
}

TEST_F(EventExpiryTest, WatchesSeeThemDeletedInOrder) {
  expiry_.Watch();
  for (int i = 0; i < 250; ++i) Create(std::to_string(i));
  const auto watch = store_->StartWatch({{"", "events"}, {}, 0}, [] {});
  clock_.Advance(1h);
  expiry_.Sweep();
  std::vector<store::EventPtr> events;
  ASSERT_TRUE((*watch)->Poll(1000, events).ok());
  ASSERT_EQ(events.size(), 250U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]->type, store::EventType::kDeleted);
    EXPECT_EQ(events[i]->object->name(), std::to_string(i));
  }
}

TEST_F(EventExpiryTest, JumpsOfTheWallClockDoNothing) {
  expiry_.Watch();
  Create("a");
  clock_.JumpBy(48h);
  expiry_.Sweep();
  EXPECT_EQ(Left(), (Strings{"default/a"}));
  clock_.JumpBy(-96h);
  clock_.Advance(1h);
  expiry_.Sweep();
  EXPECT_EQ(Left(), Strings());
}

TEST_F(EventExpiryTest, LeavesOtherObjectsAlone) {
  expiry_.Watch();
  const store::Key map = store::testing::ConfigMap("default", "a");
  ASSERT_TRUE(store_->Create(map, store::testing::Encode("default", "a")).ok());
  clock_.Advance(2h);
  expiry_.Sweep();
  EXPECT_NE(store_->Get(map), nullptr);
}

}  // namespace
}  // namespace portcullis::controllers
