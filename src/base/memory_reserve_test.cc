// SPDX-License-Identifier: Apache-2.0

#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <string>

namespace portcullis::base {
namespace {

TEST(MemoryReserve, AFailedAllocationIsMetWhereItIsNeededAndThrowsElsewhere) {
  PutMemoryAside();
  const std::new_handler handler = std::get_new_handler();
  ASSERT_NE(handler, nullptr);
  EXPECT_THROW(handler(), std::bad_alloc);
  {
    const NeedsMemory needs;
    EXPECT_NO_THROW(handler());
    { const NeedsMemory more; }
    EXPECT_NO_THROW(handler());
  }
  EXPECT_THROW(handler(), std::bad_alloc);
}

constexpr std::size_t kMib = 1 << 20;

TEST(MemoryReserve, KnowsWhatTheProcessTakes) {
  const std::size_t before = UsedMemory();
  const std::string large(64 * kMib, 'x');
  EXPECT_GE(UsedMemory(), before + 60 * kMib);
}

TEST(MemoryReserve, WhatPassesTheLimitIsRefusedUnlessItIsNeeded) {
  EXPECT_NO_THROW(AskForMemory(std::numeric_limits<std::size_t>::max() / 2)) << "without a limit";
  LimitMemory(UsedMemory() + 64 * kMib);
  EXPECT_NO_THROW(AskForMemory(16 * kMib));
  EXPECT_THROW(AskForMemory(128 * kMib), std::bad_alloc);
  {
    const NeedsMemory needs;
    EXPECT_NO_THROW(AskForMemory(128 * kMib));
  }
  LimitMemory(std::numeric_limits<std::size_t>::max());
}

class Cache final : public RoomMaker {
 public:
  void MakeRoom() override {
    ++asked;
    std::string().swap(content);
  }
  std::string content = std::string(64 * kMib, 'x');
  int asked = 0;
};

TEST(MemoryReserve, NothingIsRefusedForWhichThereIsRoom) {
  Cache cache;
  LimitMemory(UsedMemory() + 32 * kMib, &cache);
  EXPECT_NO_THROW(AskForMemory(16 * kMib));
  EXPECT_EQ(cache.asked, 0);
  EXPECT_NO_THROW(AskForMemory(64 * kMib));
  EXPECT_EQ(cache.asked, 1);
  EXPECT_THROW(AskForMemory(128 * kMib), std::bad_alloc);
  EXPECT_EQ(cache.asked, 2);
  LimitMemory(std::numeric_limits<std::size_t>::max());
}

}  // namespace
}  // namespace portcullis::base
