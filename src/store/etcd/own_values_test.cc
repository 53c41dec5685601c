// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/own_values.h"

#include <gtest/gtest.h>

namespace portcullis::store {
namespace {

TEST(OwnValues, AreKnownOnce) {
  OwnValues own;
  own.Add("/a", "1");
  EXPECT_FALSE(own.Take("/b", "1"));
  EXPECT_TRUE(own.Take("/a", "1"));
  EXPECT_FALSE(own.Take("/a", "1"));
}

TEST(OwnValues, AreNotTakenByWhatAnotherServerWritesInBetween) {
  OwnValues own;
  own.Add("/a", "1");
  EXPECT_FALSE(own.Take("/a", "2"));
  EXPECT_TRUE(own.Take("/a", "1"));
}

TEST(OwnValues, OfAKeyOnlyTheLastIsKnown) {
  OwnValues own;
  own.Add("/a", "1");
  own.Add("/a", "2");
  EXPECT_FALSE(own.Take("/a", "1"));
  EXPECT_TRUE(own.Take("/a", "2"));
}

}  // namespace
}  // namespace portcullis::store
