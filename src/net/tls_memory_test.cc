// SPDX-License-Identifier: Apache-2.0

#include "net/tls_memory.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace portcullis::net {
namespace {

constexpr std::size_t kRecord = 16 * 1024 + 400;

TEST(TlsMemoryTest, ABufferThatIsGivenBackIsTheNextOne) {
  void* const first = AllocateForTls(kRecord);
  ASSERT_NE(first, nullptr);
  FreeForTls(first);
  void* const second = AllocateForTls(kRecord + 100);
  EXPECT_EQ(second, first);
  std::memset(second, 1, kRecord + 100);
  FreeForTls(second);
}

TEST(TlsMemoryTest, GivesToMallocWhatAThreadDoesNotNeed) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(AllocateForTls(kRecord));
  for (void* block : blocks) FreeForTls(block);
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    void* const block = AllocateForTls(size);
    std::memset(block, 1, size);
    FreeForTls(block);
  }
  EXPECT_EQ(AllocateForTls(0), nullptr);
  FreeForTls(nullptr);
}

TEST(TlsMemoryTest, ABlockMayBeGivenBackOnAnotherThread) {
  void* const block = AllocateForTls(kRecord);
  std::thread([block] {
    FreeForTls(block);
  }).join();  // and the thread gives it to malloc as it ends
}

}  // namespace
}  // namespace portcullis::net
