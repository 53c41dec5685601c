// SPDX-License-Identifier: Apache-2.0

#include "store/cache/listeners.h"

#include <gtest/gtest.h>

namespace portcullis::store {
namespace {

using std::chrono::milliseconds;

class ListenersTest : public ::testing::Test {
 protected:
  void AddMany(std::size_t count, const CollectionState* collection, std::string_view ns = {}) {
    for (std::size_t i = 0; i < count; ++i) {
      all_.push_back(std::make_shared<Listener>([] {}));
      all_.back()->Arm();
      listeners_.Add(collection, ns, all_.back());
    }
  }

  // How many the marked changes wake at this time; all ask for the next change.
  std::size_t Woken(milliseconds at) {
    std::vector<ListenerPtr> due;
    listeners_.Due(base::SteadyTime(at), due);
    for (const ListenerPtr& listener : due) listener->Arm();
    return due.size();
  }

  static const CollectionState* Collection(int number) {
    static const char places[2] = {};
    return reinterpret_cast<const CollectionState*>(places + number);  // never looked into
  }
  const CollectionState* const pods_ = Collection(0);
  const CollectionState* const secrets_ = Collection(1);
  Listeners listeners_;
  std::vector<ListenerPtr> all_;
};

TEST_F(ListenersTest, WakesThoseOfTheCollectionAndOfTheNamespace) {
  AddMany(1, pods_);
  AddMany(2, pods_, "a");
  AddMany(4, pods_, "b");
  AddMany(8, secrets_, "a");
  EXPECT_TRUE(listeners_.Mark({pods_, "a"}));
  EXPECT_EQ(Woken(milliseconds(1)), 3u);
  EXPECT_EQ(Woken(milliseconds(1)), 0u) << "the change has been told";
  EXPECT_TRUE(listeners_.MarkAll());
  EXPECT_EQ(Woken(milliseconds(1)), 15u);
}

TEST_F(ListenersTest, WakesOnlyWhoAsksForIt) {
  AddMany(3, pods_);
  all_[1]->Disarm();
  listeners_.Mark({pods_, "a"});
  EXPECT_EQ(Woken(milliseconds(1)), 2u);
}

TEST_F(ListenersTest, AChangeThatIsPendingIsNotMarkedAgain) {
  EXPECT_FALSE(listeners_.Mark({pods_, "a"})) << "there are no listeners";
  AddMany(1, pods_);
  EXPECT_TRUE(listeners_.Mark({pods_, "a"}));
  EXPECT_FALSE(listeners_.Mark({pods_, "b"}));
}

TEST_F(ListenersTest, FewNeverRest) {
  AddMany(49, pods_);
  for (int change = 0; change < 3; ++change) {
    listeners_.Mark({pods_, "a"});
    EXPECT_EQ(Woken(milliseconds(1)), 49u);
  }
}

TEST_F(ListenersTest, ManyGetTheChangesOfTheirRestTogether) {
  AddMany(1000, pods_);
  AddMany(1, secrets_);
  listeners_.Mark({pods_, "a"});
  EXPECT_EQ(Woken(milliseconds(100)), 1000u) << "the first change is told at once";
  EXPECT_EQ(listeners_.next(), base::SteadyTime::max());

  listeners_.Mark({pods_, "a"});
  listeners_.Mark({secrets_, "a"});
  EXPECT_EQ(Woken(milliseconds(119)), 1u) << "those of another collection do not wait";
  EXPECT_EQ(listeners_.next(), base::SteadyTime(milliseconds(120)));
  EXPECT_FALSE(listeners_.Mark({pods_, "b"}));
  EXPECT_EQ(Woken(milliseconds(120)), 1000u);
}

TEST_F(ListenersTest, ARestHasALimit) {
  AddMany(20'000, pods_);
  listeners_.Mark({pods_, "a"});
  EXPECT_EQ(Woken(milliseconds(0)), 20'000u);
  listeners_.Mark({pods_, "a"});
  EXPECT_EQ(Woken(milliseconds(99)), 0u);
  EXPECT_EQ(Woken(milliseconds(100)), 20'000u);
}

TEST_F(ListenersTest, ThoseThatAreRemovedAreNotWoken) {
  AddMany(3, pods_);
  listeners_.Mark({pods_, "a"});
  listeners_.Remove(pods_, "", *all_[0]);
  EXPECT_EQ(Woken(milliseconds(1)), 2u);
  listeners_.Mark({pods_, "a"});
  listeners_.Remove(pods_, "", *all_[1]);
  listeners_.Remove(pods_, "", *all_[2]);
  EXPECT_EQ(Woken(milliseconds(1)), 0u);
}

}  // namespace
}  // namespace portcullis::store
