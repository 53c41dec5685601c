// SPDX-License-Identifier: Apache-2.0

// The parts of flow control that are pure functions or nearly so. Tables as in the tests of
// k8s.io/apiserver/pkg/util/flowcontrol, where there are any.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "flow_control/bootstrap.h"
#include "flow_control/classifier.h"
#include "flow_control/concurrency_allocation.h"
#include "flow_control/dropped_requests.h"
#include "flow_control/integrator.h"
#include "flow_control/limits.h"
#include "flow_control/shuffle_sharding.h"
#include "flow_control/timed_ratio.h"
#include "flow_control/work_estimator.h"
#include "json/reader.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::flow_control {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

std::vector<std::int32_t> Cards(const Hand& hand) {
  return {hand.cards().begin(), hand.cards().end()};
}

TEST(ShuffleSharding, DealsByTheHash) {
  EXPECT_THAT(Cards(Deal(5, 5, 119)), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(Cards(Deal(4, 2, 11)), ElementsAre(3, 2));
  EXPECT_EQ(HashFlow("global-default", "joe"), 1139835309010968526U);
  EXPECT_THAT(Cards(Deal(128, 6, HashFlow("global-default", "joe"))),
              ElementsAre(78, 24, 127, 21, 59, 31));
}

TEST(ShuffleSharding, NeverDealsAQueueTwice) {
  for (std::uint64_t hash = 1; hash < 2000; ++hash) {
    auto cards = Cards(Deal(16, 8, hash * 0x9E3779B97F4A7C15U));
    std::sort(cards.begin(), cards.end());
    EXPECT_EQ(std::unique(cards.begin(), cards.end()), cards.end());
    EXPECT_LT(cards.back(), 16);
  }
}

TEST(ShuffleSharding, KnowsItsEntropy) {
  EXPECT_TRUE(CanDeal(128, 6));
  EXPECT_TRUE(CanDeal(1, 1));
  EXPECT_FALSE(CanDeal(0, 1));
  EXPECT_FALSE(CanDeal(4, 5));
  EXPECT_FALSE(CanDeal(1 << 20, 4));
}

TEST(SeatSeconds, AreWrittenWithTheirUnit) {
  EXPECT_EQ(Format(SeatsTimesDuration(1, 3ms)), "0.00300000ss");
  EXPECT_EQ(Format(SeatsTimesDuration(10, 123s)), "1230.00000000ss");
  EXPECT_EQ(DurationPerSeat(SeatsTimesDuration(20, 5ms), 10), base::Duration(10ms));
}

TEST(Integrator, WeighsByTime) {
  base::FakeClock clock;
  Integrator demand(clock.Steady());
  demand.Set(10, clock.Steady());
  clock.Advance(1s);
  demand.Set(0, clock.Steady());
  clock.Advance(3s);
  const IntegratorResults results = demand.Reset(clock.Steady());
  EXPECT_DOUBLE_EQ(results.seconds, 4);
  EXPECT_DOUBLE_EQ(results.average, 2.5);
  EXPECT_NEAR(results.deviation, std::sqrt(25 - 6.25), 1e-9);
  EXPECT_DOUBLE_EQ(results.max, 10);
  EXPECT_TRUE(std::isnan(demand.Reset(clock.Steady()).average));
}

TEST(TimedRatio, CountsNanosecondsByRatio) {
  base::FakeClock clock;
  const double bounds[] = {0, 0.5, 1};
  metrics::Histogram histogram(bounds);
  TimedRatio ratio(histogram, clock.Steady());
  ratio.SetDenominator(4, clock.Steady());
  clock.Advance(10ns);
  ratio.Set(2, clock.Steady());
  clock.Advance(20ns);
  ratio.Set(8, clock.Steady());
  clock.Advance(30ns);
  ratio.Flush(clock.Steady());
  EXPECT_EQ(histogram.bucket(0), 10U);
  EXPECT_EQ(histogram.bucket(1), 20U);
  EXPECT_EQ(histogram.bucket(3), 30U);
  EXPECT_DOUBLE_EQ(histogram.sum(), 20 * 0.5 + 30 * 2.0);
}

std::vector<double> Allocate(int total, std::vector<SeatClaim> claims) {
  const auto shares = AllocateSeats(total, claims);
  EXPECT_TRUE(shares.ok());
  return shares.ok() ? shares->seats : std::vector<double>();
}

TEST(AllocateSeats, IsProportionalBetweenTheBounds) {
  EXPECT_THAT(Allocate(100, {{20, 0, 100}, {30, 0, 100}}), ElementsAre(40, 60));
  EXPECT_THAT(Allocate(100, {{20, 0, 30}, {30, 0, 100}}), ElementsAre(30, 70));
  EXPECT_THAT(Allocate(100, {{50, 45, 100}, {450, 0, 500}}), ElementsAre(45, 55));
  EXPECT_THAT(Allocate(10, {{5, 5, 9}, {5, 5, 9}}), ElementsAre(5, 5));
  EXPECT_THAT(Allocate(18, {{5, 5, 9}, {5, 5, 9}}), ElementsAre(9, 9));
  EXPECT_THAT(Allocate(0, {{0, 0, 9}}), ElementsAre(0));
  EXPECT_FALSE(AllocateSeats(19, std::vector<SeatClaim>{{5, 5, 9}, {5, 5, 9}}).ok());
  EXPECT_FALSE(AllocateSeats(9, std::vector<SeatClaim>{{5, 5, 9}, {5, 5, 9}}).ok());
}

TEST(AllocateSeats, SharesSumToTheTotal) {
  std::uint64_t random = 42;
  const auto next = [&](int below) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((random >> 33) % static_cast<unsigned>(below));
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<SeatClaim> claims(static_cast<std::size_t>(1 + next(8)));
    int low = 0;
    int high = 0;
    for (SeatClaim& claim : claims) {
      claim.lower = next(50);
      claim.upper = claim.lower + next(100);
      claim.target = claim.lower + next(100);
      low += static_cast<int>(claim.lower);
      high += static_cast<int>(claim.upper);
    }
    const int total = low + next(high - low + 1);
    double sum = 0;
    for (double seats : Allocate(total, claims)) sum += seats;
    EXPECT_NEAR(sum, total, 1e-6);
  }
}

LevelSpec SpecOf(int shares, int lendable, int hand_size = 0) {
  LevelSpec spec;
  spec.shares = shares;
  spec.lendable_percent = lendable;
  spec.queues = hand_size > 0 ? 128 : 0;
  spec.hand_size = hand_size;
  return spec;
}

// The limits of Kubernetes' own levels in a server with 600 seats.
TEST(Limits, AreThoseOfTheDocumentation) {
  const auto limits_of = [](int shares, int lendable) {
    LevelLimits limits;
    SetConfiguredLimits(SpecOf(shares, lendable), 600, 245, limits);
    return limits;
  };
  EXPECT_EQ(limits_of(30, 33).nominal, 74);
  EXPECT_EQ(limits_of(30, 33).lower, 50);
  EXPECT_EQ(limits_of(40, 25).nominal, 98);
  EXPECT_EQ(limits_of(40, 25).lower, 73);
  EXPECT_EQ(limits_of(100, 90).nominal, 245);
  EXPECT_EQ(limits_of(100, 90).lower, 24);
  EXPECT_EQ(limits_of(100, 90).upper, 845);
  EXPECT_EQ(limits_of(5, 0).nominal, 13);
  EXPECT_EQ(MaxSeatsOf(SpecOf(20, 50, 6), limits_of(20, 50)), 8U);
  EXPECT_EQ(MaxSeatsOf(SpecOf(100, 90, 6), limits_of(100, 90)), 37U);
  EXPECT_EQ(MaxSeatsOf(SpecOf(5, 0), limits_of(5, 0)), 0U);
}

TEST(Limits, WhatIsExemptTakesSeatsFromTheOthers) {
  LevelLimits exempt;
  LevelLimits limited;
  SetConfiguredLimits(SpecOf(100, 50), 100, 100, limited);
  exempt.exempt = true;
  exempt.demand.high_watermark = 40;
  LevelLimits* levels[] = {&exempt, &limited};
  Borrow(levels);
  EXPECT_EQ(exempt.current, 40);
  EXPECT_EQ(limited.current, 100);
  exempt.demand.high_watermark = 60;
  Borrow(levels);
  EXPECT_EQ(limited.current, 50);
}

TEST(DroppedRequests, DoublesUnderLoadAndFallsByOne) {
  DroppedRequests dropped;
  EXPECT_EQ(dropped.retry_after(), 1);
  std::int64_t second = 1000;
  const auto drop = [&](int count) {
    for (int i = 0; i < count; ++i) dropped.Record(second);
    ++second;
  };
  drop(5);
  drop(5);
  EXPECT_EQ(dropped.retry_after(), 2);
  drop(5);
  drop(10);
  drop(1);
  EXPECT_EQ(dropped.retry_after(), 4);
  for (int i = 0; i < 200; ++i) drop(40);
  EXPECT_EQ(dropped.retry_after(), 32);
  for (int i = 0; i < 100; ++i) {
    second += 100;
    drop(1);
  }
  EXPECT_EQ(dropped.retry_after(), 1);
}

struct ListCase {
  std::string_view verb;
  ListFacts list;
  std::size_t objects = 0;
  std::size_t size = 0;
  std::uint64_t max_seats = 0;
  std::uint64_t seats = 0;
};

TEST(WorkEstimator, WidensListsByTheirMemory) {
  const ListFacts limited{.limit = 10};
  const ListFacts exact{.limit = 10, .resource_version = "5"};
  const ListFacts chosen{.limit = 1, .resource_version = "5", .label_selector = "a=b"};
  const ListFacts from_then{.resource_version = "5"};
  const ListFacts streamed{.resource_version = "5", .send_initial_events = true};
  const ListCase cases[] = {
      {"list", {}, 0, 0, 100, 1},
      {"list", {}, 30, 10'000, 100, 3},
      {"list", {}, 200, 10'000, 100, 10},  // at once no more than 1 MB
      {"list", limited, 30, 10'000, 100, 1},
      {"list", exact, 60, 20'000, 100, 2},
      {"list", chosen, 100, 20'000, 100, 10},
      {"list", {}, 200, 10'000, 4, 4},
      {"list", {}, 200, 10'000, 0, 10},
      {"list", {.malformed = true}, 0, 0, 7, 7},
      {"watch", {}, 30, 10'000, 100, 3},
      {"watch", from_then, 30, 10'000, 100, 1},
      {"watch", streamed, 30, 10'000, 100, 3},
  };
  for (const ListCase& one : cases) {
    const base::FakeClock clock;
    const auto store = store::OpenMemory();
    for (std::size_t i = 0; i < one.objects; ++i) {
      const std::string name = base::StrCat("n", std::to_string(i));
      std::string json =
          base::StrCat(R"({"metadata":{"name":")", name, R"(","resourceVersion":""},"x":")");
      json.append(one.size - json.size() - 4, 'x').append("\"}");
      ASSERT_TRUE(
          store->Create({"", "pods", "default", name}, store::testing::EncodeText(json)).ok());
    }
    RequestFacts facts;
    facts.verb = one.verb;
    facts.resource = "pods";
    const WorkEstimator estimator(*store, clock);
    EXPECT_EQ(estimator.ForList(facts, one.list, one.max_seats).initial_seats, one.seats)
        << one.verb << " of " << one.objects << " of " << one.size << " with " << one.max_seats;
  }
}

TEST(WorkEstimator, ChargesWritesForTheirWatches) {
  const auto write = [](int watches, std::uint64_t max_seats) {
    const WorkEstimate work = WorkEstimator::ForWrite(watches, max_seats);
    EXPECT_EQ(work.initial_seats, 1U);
    return std::pair(work.final_seats, work.additional_latency);
  };
  using Pair = std::pair<std::uint64_t, base::Duration>;
  EXPECT_EQ(write(0, 10), Pair(0, 0ms));
  EXPECT_EQ(write(5, 10), Pair(0, 0ms));
  EXPECT_EQ(write(29, 10), Pair(3, 5ms));
  EXPECT_EQ(write(199, 10), Pair(10, 10ms));
  EXPECT_EQ(write(100, 5), Pair(5, 10ms));
  EXPECT_EQ(write(1000, 20), Pair(10, 50ms));
}

TEST(WatchTracker, CountsTheResourceItsNamespaceAndTheObject) {
  WatchTracker tracker;
  RequestFacts all;
  all.resource = "pods";
  RequestFacts some = all;
  some.ns = "default";
  RequestFacts one = some;
  one.name = "a";
  const auto end_all = tracker.Register(all, "");
  const auto end_some = tracker.Register(some, "");
  const auto end_one = tracker.Register(one, "");
  const auto end_node = tracker.Register(all, "spec.nodeName=n");
  const auto end_unset = tracker.Register(all, "spec.nodeName=");
  EXPECT_EQ(tracker.InterestedIn(all), 2);
  EXPECT_EQ(tracker.InterestedIn(some), 3);
  EXPECT_EQ(tracker.InterestedIn(one), 4);
  for (const auto& end : {end_all, end_some, end_one, end_node, end_unset}) end();
  EXPECT_EQ(tracker.InterestedIn(one), 0);
}

TEST(PathRule, MatchesWholeSegments) {
  const PathRule rule{{true, {"*"}}, {"/healthz", "/apis/*"}};
  EXPECT_TRUE(rule.Matches("get", "/healthz"));
  EXPECT_TRUE(rule.Matches("get", "/healthz/ping"));
  EXPECT_FALSE(rule.Matches("get", "/healthzz"));
  EXPECT_TRUE(rule.Matches("get", "/apis/"));
  EXPECT_TRUE(rule.Matches("get", "/apis/apps"));
  EXPECT_FALSE(rule.Matches("get", "/apis"));
}

class BootstrapTest : public ::testing::Test {
 protected:
  const BootstrapObject& Find(std::string_view kind, std::string_view name) {
    for (const BootstrapObject& one : wanted_) {
      if (one.object["kind"].AsString() == kind &&
          one.object["metadata"]["name"].AsString() == name) {
        return one;
      }
    }
    return wanted_.front();
  }
  json::Value With(json::Value object, std::vector<std::string_view> path, json::Value value) {
    return json::SetPath(arena_, object, path, value);
  }

  json::Arena arena_;
  std::vector<BootstrapObject> wanted_ = BootstrapObjects(arena_);
};

TEST_F(BootstrapTest, MandatoryObjectsAreRestored) {
  const BootstrapObject& catch_all = Find("PriorityLevelConfiguration", "catch-all");
  EXPECT_TRUE(Revise(arena_, catch_all, catch_all.object).is_null());
  json::Value changed =
      With(catch_all.object, {"spec", "limited", "nominalConcurrencyShares"}, json::Value::Int(7));
  changed =
      With(changed, {"metadata", "annotations", kAutoUpdate}, json::Value::StringView("false"));
  const json::Value next = Revise(arena_, catch_all, changed);
  EXPECT_EQ(next["spec"], catch_all.object["spec"]);
  EXPECT_EQ(next["metadata"]["annotations"][kAutoUpdate].AsString(), "true");
}

TEST_F(BootstrapTest, TheSharesOfExemptAreTheOperators) {
  const BootstrapObject& exempt = Find("PriorityLevelConfiguration", "exempt");
  const json::Value changed =
      With(exempt.object, {"spec", "exempt", "lendablePercent"}, json::Value::Int(50));
  EXPECT_TRUE(Revise(arena_, exempt, changed).is_null());
}

TEST_F(BootstrapTest, SuggestedObjectsFollowTheirAnnotation) {
  const BootstrapObject& probes = Find("FlowSchema", "probes");
  const json::Value changed =
      With(probes.object, {"spec", "matchingPrecedence"}, json::Value::Int(9));
  EXPECT_EQ(Revise(arena_, probes, changed)["spec"]["matchingPrecedence"].AsInt(), 2);
  EXPECT_TRUE(Revise(arena_, probes,
                     With(changed, {"metadata", "annotations", kAutoUpdate},
                          json::Value::StringView("false")))
                  .is_null());
  // Without the annotation: theirs once it was changed, and so it is noted.
  json::Value bare = With(changed, {"metadata", "annotations"}, json::Value());
  bare = With(bare, {"metadata", "generation"}, json::Value::Int(2));
  const json::Value noted = Revise(arena_, probes, bare);
  EXPECT_EQ(noted["metadata"]["annotations"][kAutoUpdate].AsString(), "false");
  EXPECT_EQ(noted["spec"]["matchingPrecedence"].AsInt(), 9);
}

TEST_F(BootstrapTest, WhatKubernetesNoLongerMaintainsIsUnwanted) {
  const json::Value probes = Find("FlowSchema", "probes").object;
  EXPECT_FALSE(IsUnwanted(probes, wanted_));
  const json::Value old = With(probes, {"metadata", "name"}, json::Value::StringView("old"));
  EXPECT_TRUE(IsUnwanted(old, wanted_));
  EXPECT_FALSE(IsUnwanted(
      With(old, {"metadata", "annotations", kAutoUpdate}, json::Value::StringView("false")),
      wanted_));
  EXPECT_FALSE(IsUnwanted(With(old, {"metadata", "annotations"}, json::Value()), wanted_));
}

}  // namespace
}  // namespace portcullis::flow_control
