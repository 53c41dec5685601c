// SPDX-License-Identifier: Apache-2.0

#include "base/futex.h"

#include <gtest/gtest.h>

#include <thread>

namespace portcullis::base {
namespace {

TEST(FutexTest, ReturnsAtOnceWhereTheNumberIsAnother) {
  const std::atomic<int> word{1};
  EXPECT_TRUE(FutexWait(word, 0));
}

TEST(FutexTest, WaitsUntilTheNumberHasChanged) {
  std::atomic<int> word{0};
  std::thread waker([&] {
    FutexWake(word);  // without a change the waiter sleeps again
    word.store(1, std::memory_order_release);
    FutexWake(word);
  });
  EXPECT_TRUE(FutexWait(word, 0));
  EXPECT_EQ(word.load(), 1);
  waker.join();
}

TEST(FutexTest, GivesUpAfterTheLimit) {
  const std::atomic<int> word{0};
  EXPECT_FALSE(FutexWait(word, 0, std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace portcullis::base
