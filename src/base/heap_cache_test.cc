// SPDX-License-Identifier: Apache-2.0

#include "base/heap_cache.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace portcullis::base {
namespace {

TEST(HeapCache, HandsOutABlockOfTheSameClassAgain) {
  constexpr std::size_t kSizes[] = {1, 24, 100, 1016, 1017, 4096, 8192, 16384, 20472};
  for (const std::size_t size : kSizes) {
    void* const block = TakeFromHeap(size);
    std::memset(block, 1, size);
    GiveToHeap(block);
    EXPECT_EQ(TakeFromHeap(size), block) << size;
    GiveToHeap(block, size);
    EXPECT_EQ(TakeFromHeap(size), block) << size;
    EXPECT_GE(malloc_usable_size(block), size);
    GiveToHeap(block, size);
  }
}

TEST(HeapCache, GivesEachBlockToOneCallerOnly) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  std::set<void*> seen;
  for (int round = 0; round < 3; ++round) {
    seen.clear();
    for (std::size_t size = 0; size < 24'000; size += 7) {
      void* const block = TakeFromHeap(size);
      ASSERT_NE(block, nullptr);
      ASSERT_GE(malloc_usable_size(block), size);
      ASSERT_TRUE(seen.insert(block).second) << size;
      std::memset(block, 0xFF, size);
      blocks.emplace_back(block, size);
    }
    for (const auto& [block, size] : blocks) {
      if (size % 2 == 0) {
        GiveToHeap(block);
      } else {
        GiveToHeap(block, size);
      }
    }
    blocks.clear();
  }
}

TEST(HeapCache, TakesBlocksOfOtherThreadsAndOfMalloc) {
  void* taken = nullptr;
  std::thread([&taken] { taken = TakeFromHeap(100); }).join();
  GiveToHeap(taken);
  EXPECT_EQ(TakeFromHeap(100), taken);
  GiveToHeap(taken);
  for (std::size_t size = 1; size < 3000; ++size) GiveToHeap(std::malloc(size));
  for (std::size_t size = 1; size < 3000; ++size) {
    void* const block = TakeFromHeap(size);
    ASSERT_GE(malloc_usable_size(block), size);
    std::free(block);
  }
  GiveToHeap(nullptr);
  GiveToHeap(nullptr, 8);
}

TEST(HeapCache, RefusesRequestsThatNoHeapCanMeet) {
  EXPECT_EQ(TakeFromHeap(SIZE_MAX), nullptr);
  EXPECT_EQ(TakeFromHeap(SIZE_MAX - 8), nullptr);
}

TEST(HeapCacheDeathTest, EndsTheProcessWhenABlockIsFreedTwice) {
  void* const block = TakeFromHeap(48);
  EXPECT_DEATH(
      {
        GiveToHeap(block);
        GiveToHeap(block);
      },
      "");
  GiveToHeap(block);
}

}  // namespace
}  // namespace portcullis::base
