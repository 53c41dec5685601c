// SPDX-License-Identifier: Apache-2.0

#include "base/stack_size.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace portcullis::base {
namespace {

std::size_t SizeOfANewThreadsStack() {
  std::size_t size = 0;
  std::thread([&] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    EXPECT_EQ(pthread_attr_getstacksize(&attributes, &size), 0);
    pthread_attr_destroy(&attributes);
  }).join();
  return size;
}

TEST(StackSize, IsThatOfThreadsThatStartLater) {
  RaiseStackSize();
  EXPECT_GE(SizeOfANewThreadsStack(), kStackSize);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
  EXPECT_GE(limit.rlim_cur, std::min<rlim_t>(kStackSize, limit.rlim_max));
}

}  // namespace
}  // namespace portcullis::base
