// SPDX-License-Identifier: Apache-2.0

#include "json/sorted.h"

#include <gtest/gtest.h>

#include <string>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

TEST(Sorted, OrdersNamesByBytesAtEveryLevel) {
  Arena arena;
  const Value value =
      *Parse(arena, R"({"b":[{"z":1,"a":[],"Z":{}},2],"a":{"é":0,"f:x":1,"f":2,".":3},"B":null})");
  EXPECT_FALSE(IsSorted(value));
  const Value sorted = Sorted(arena, value);
  EXPECT_EQ(ToString(sorted),
            R"({"B":null,"a":{".":3,"f":2,"f:x":1,"é":0},"b":[{"Z":{},"a":[],"z":1},2]})");
  EXPECT_TRUE(IsSorted(sorted));
  EXPECT_TRUE(sorted == value);
}

TEST(Sorted, SharesWhatIsInOrder) {
  Arena arena;
  const Value value = *Parse(arena, R"({"b":{"x":{"y":1}},"a":[{"c":1,"d":2}]})");
  const Value sorted = Sorted(arena, value);
  EXPECT_TRUE(sorted["a"].IsSameAs(value["a"]));
  EXPECT_TRUE(sorted["b"].IsSameAs(value["b"]));
  EXPECT_EQ(sorted["b"].source(), R"({"x":{"y":1}})");
  EXPECT_TRUE(Sorted(arena, sorted).IsSameAs(sorted));
  EXPECT_TRUE(Sorted(arena, Value::Int(1)).IsSameAs(Value::Int(1)));
}

TEST(Sorted, TakesDeepDocuments) {
  constexpr int kDepth = 9000;
  std::string text;
  for (int i = 0; i < kDepth; ++i) text += R"({"b":0,"a":)";
  text += "1" + std::string(kDepth, '}');
  Arena arena;
  const Value sorted = Sorted(arena, *Parse(arena, text));
  EXPECT_TRUE(IsSorted(sorted));
  EXPECT_TRUE(ToString(sorted).starts_with(R"({"a":{"a":{"a":)"));
}

}  // namespace
}  // namespace portcullis::json
