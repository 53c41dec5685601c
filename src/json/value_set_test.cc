// SPDX-License-Identifier: Apache-2.0

#include "json/value_set.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::json {
namespace {

TEST(ValueSetTest, TellsValuesApartByTheirContent) {
  Arena arena;
  ValueSet set;
  EXPECT_TRUE(set.Insert(Parse(arena, R"({"a":1,"b":[true,"x"]})").value()));
  EXPECT_FALSE(set.Insert(Parse(arena, R"({"b":[true,"x"],"a":1})").value()));
  EXPECT_TRUE(set.Insert(Parse(arena, R"({"b":["x",true],"a":1})").value()));
  EXPECT_TRUE(set.Contains(Parse(arena, R"({"a":1.0,"b":[true,"x"]})").value()));
  EXPECT_FALSE(set.Contains(Value()));
}

}  // namespace
}  // namespace portcullis::json
