// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/follower.h"

#include <gtest/gtest.h>

#include <string_view>

namespace portcullis::store {
namespace {

TEST(HasExactProgress, IsTrueOfCorrectedVersions) {
  for (const std::string_view version :
       {"3.4.31", "3.5.13", "3.5.30", "3.6.0", "3.6.0-rc.1", "4.0.0"}) {
    EXPECT_TRUE(HasExactProgress(version)) << version;
  }
  for (const std::string_view version :
       {"3.4.23", "3.4.30", "3.5.0", "3.5.12", "3.3.27", "", "3", "x"}) {
    EXPECT_FALSE(HasExactProgress(version)) << version;
  }
}

}  // namespace
}  // namespace portcullis::store
