// SPDX-License-Identifier: Apache-2.0

#include "base/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace portcullis::base {
namespace {

constexpr SteadyTime kNever = SteadyTime::max();
constexpr SteadyTime kPast = SteadyTime::min();

void AwaitWaiting(const SingleFlight<int>& flights, std::size_t count) {
  while (flights.waiting() < count) std::this_thread::yield();
}

TEST(SingleFlight, RunsTheWorkOfOneForAllThatWantIt) {
  SingleFlight<int> flights;
  std::atomic<int> runs{0};
  std::vector<std::thread> others;
  std::atomic<int> sum{0};
  const auto first = flights.Do("a", kNever, [&]() -> std::optional<int> {
    for (int i = 0; i < 3; ++i) {
      others.emplace_back([&] {
        sum += flights.Do("a", kNever, [&]() -> std::optional<int> { return ++runs; }).value_or(0);
      });
    }
    AwaitWaiting(flights, 3);
    return 7;
  });
  for (std::thread& other : others) other.join();
  EXPECT_EQ(first, 7);
  EXPECT_EQ(sum, 21);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(flights.Do("a", kNever, [] { return std::optional(8); }), 8) << "it is over";
}

TEST(SingleFlight, KeysHaveNothingToDoWithEachOther) {
  SingleFlight<int> flights;
  EXPECT_EQ(flights.Do("a", kNever,
                       [&] { return flights.Do("b", kPast, [] { return std::optional(2); }); }),
            2);
}

TEST(SingleFlight, WaitsNoLongerThanTheDeadline) {
  SingleFlight<int> flights;
  std::optional<int> other = 1;
  flights.Do("a", kNever, [&]() -> std::optional<int> {
    other = flights.Do("a", kPast, [] { return std::optional(2); });
    return 3;
  });
  EXPECT_EQ(other, std::nullopt);
}

TEST(SingleFlight, AnotherRunsItsOwnIfOneGivesUp) {
  SingleFlight<int> flights;
  std::optional<int> other;
  std::thread thread;
  const auto first = flights.Do("a", kNever, [&]() -> std::optional<int> {
    thread = std::thread([&] { other = flights.Do("a", kNever, [] { return std::optional(2); }); });
    AwaitWaiting(flights, 1);
    return std::nullopt;
  });
  thread.join();
  EXPECT_EQ(first, std::nullopt);
  EXPECT_EQ(other, 2);
}

}  // namespace
}  // namespace portcullis::base
