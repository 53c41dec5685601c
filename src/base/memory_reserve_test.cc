// SPDX-License-Identifier: Apache-2.0

#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

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

}  // namespace
}  // namespace portcullis::base
