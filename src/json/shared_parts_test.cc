// SPDX-License-Identifier: Apache-2.0

#include "json/shared_parts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "json/reader.h"
#include "json/verbatim.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

class SharedPartsTest : public testing::Test {
 protected:
  Value J(std::string_view text) {
    const auto value = Parse(arena_, text);
    EXPECT_TRUE(value.ok()) << text;
    return *value;
  }

  Arena arena_;
};

TEST_F(SharedPartsTest, WhatIsEqualIsTheSame) {
  const Value old = J(R"({"a":{"b":[1,"x",{}],"c":null},"d":true,"e":{},"f":[]})");
  EXPECT_TRUE(WithPartsOf(arena_, J(ToString(old)), old).IsSameAs(old));
  const Value spaced = J(R"({ "a":{"b":[1, "x", {}], "c":null}, "d":true, "e":{}, "f":[] })");
  EXPECT_TRUE(WithPartsOf(arena_, spaced, old).IsSameAs(old));
}

TEST_F(SharedPartsTest, WhatHasChangedStaysBesideParts) {
  const Value old = J(R"({"a":{"b":[1,2],"c":{"d":"x"}},"e":[{"f":1},{"g":[2]}]})");
  for (const std::string_view text :
       {R"({"a":{"b":[1,2],"c":{"d":"y"}},"e":[{"f":1},{"g":[2]}]})",
        R"({"e": [{"f":3}, {"g":[2]}], "a": {"b":[1,2],"c":"x"}, "h":{"i":[]}})",
        R"({"a":{"c":{"d":"x"},"b":[1,2],"z":0}})", R"({"e":[{"g":[2]},{"f":1},{"g":[2]}]})",
        R"({"a":null,"e":{}})", R"([1])", R"(7)"}) {
    const Value value = J(text);
    const Value shared = WithPartsOf(arena_, value, old);
    EXPECT_EQ(ToString(shared), ToString(value));
    EXPECT_FALSE(shared.IsSameAs(old)) << text;
  }
  const Value shared =
      WithPartsOf(arena_, J(R"({"e":[{"f":3},{"g":[2]}],"a":{"b":[1,2],"c":"x"}})"), old);
  EXPECT_TRUE(shared["e"][1].IsSameAs(old["e"][1]));
  EXPECT_TRUE(shared["a"]["b"].IsSameAs(old["a"]["b"]));
}

TEST_F(SharedPartsTest, WhatIsWrittenOtherwiseIsAnotherPart) {
  const auto shared = [&](std::string_view value, std::string_view old) {
    return WithPartsOf(arena_, J(value), J(old));
  };
  EXPECT_EQ(ToString(shared(R"({"b":1,"a":{"x":1,"y":2}})", R"({"a":{"y":2,"x":1},"b":1})")),
            R"({"b":1,"a":{"x":1,"y":2}})");
  EXPECT_EQ(shared(R"({"a":1e3})", R"({"a":1000.0})")["a"].NumberLiteral(), "1e3");
}

TEST_F(SharedPartsTest, TextsThatAreKeptStay) {
  const Value old =
      J(R"({"list":[{"a":{"b":1},"n":1}],"raw":{"l":[{"x":1}],"n":"A","c":{"d":2}}})");
  for (const std::string_view text :
       {R"({"list":[{"a":{"b":1},"n":1.0}],"raw":{"l":[{"x":1}],"n":"A","c":{"d":2}}})",
        R"({"list":[{"a":{"b":1},"n":1}],"raw":{"l":[{"x":1}],"n":"\u0041","c":{"d":2}}})",
        R"({"list":[{"a":{"b":1},"n":1}],"raw":{"l":[{"x":1},1.0],"n":"A","c":{"d":2}}})",
        R"({"list":[{"a":{"b":1},"n":2,"n":1}],"raw":{"l":[{"x":1}],"n":"A","c":{"d":2}}})"}) {
    const Value kept = *ParseVerbatim(arena_, text);
    EXPECT_EQ(ToString(WithPartsOf(arena_, kept, old)), text);
    // The text of what is around it has gone by then.
    const Value object = MakeObject(arena_, kept.members());
    const Value shared = WithPartsOf(arena_, object, old);
    EXPECT_EQ(ToString(shared), text);
    EXPECT_TRUE(shared["raw"]["c"].IsSameAs(old["raw"]["c"]));
  }
}

// A decoder that changes a value makes another node.
TEST_F(SharedPartsTest, WhatHasBeenSentOtherwiseIsAnotherPart) {
  const Value old = J(R"({"a":{"list":[1],"map":{"x":"y"}},"b":{"c":{"d":1}}})");
  const Value value = J(R"({"a": {"list": [1], "map": {"x":"y"}}, "b": {"c": {"d":1}}})");
  EXPECT_TRUE(WithPartsOf(arena_, value, old, value).IsSameAs(old));
  const Value sent = With(arena_, value, "a", With(arena_, value["a"], "list", J("[1.0]")));
  const Value shared = WithPartsOf(arena_, value, old, sent);
  EXPECT_FALSE(shared["a"].IsSameAs(old["a"]));
  EXPECT_FALSE(shared["a"]["list"].IsSameAs(old["a"]["list"]));
  EXPECT_TRUE(shared["a"]["map"].IsSameAs(old["a"]["map"]));
  EXPECT_TRUE(shared["b"].IsSameAs(old["b"]));
  EXPECT_EQ(shared, old);
}

TEST_F(SharedPartsTest, DeepValuesStay) {
  const std::string text = std::string(101, '[') + std::string(101, ']');
  const Value value = J(text);
  EXPECT_TRUE(WithPartsOf(arena_, value, J(text)).IsSameAs(value));
}

}  // namespace
}  // namespace portcullis::json
