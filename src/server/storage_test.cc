// SPDX-License-Identifier: Apache-2.0

#include "server/storage.h"

#include <gtest/gtest.h>

#include "store/etcd/rules.h"

namespace portcullis::server {
namespace {

TEST(StorageTest, WhatAServerDoesNotStartWithoutIsARuleOfOthers) {
  for (const store::Collection& collection : DecisiveCollections()) {
    EXPECT_TRUE(store::HasRules(collection)) << collection.group << " " << collection.resource;
  }
}

}  // namespace
}  // namespace portcullis::server
