// SPDX-License-Identifier: Apache-2.0

#include "json/diff.h"

#include <gtest/gtest.h>

#include <random>

#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

std::string DiffText(std::string_view before, std::string_view after) {
  Arena arena;
  return ToString(Diff(arena, Parse(arena, before).value(), Parse(arena, after).value()));
}

TEST(DiffTest, NamesWhatHasChanged) {
  const struct {
    std::string_view before;
    std::string_view after;
    std::string_view patch;
  } facts[] = {
      {R"({"a":1})", R"({"a":1})", "[]"},
      {"null", R"({"a":1})", R"([{"op":"add","path":"","value":{"a":1}}])"},
      {R"({"a":1})", R"({"a":2})", R"([{"op":"replace","path":"/a","value":2}])"},
      {R"({"a":1})", R"({"a":1,"b/c~":[]})", R"([{"op":"add","path":"/b~1c~0","value":[]}])"},
      {R"({"a":{"b":1,"c":2}})", R"({"a":{"c":2}})", R"([{"op":"remove","path":"/a/b"}])"},
      {R"({"a":{}})", R"({"a":[]})", R"([{"op":"replace","path":"/a","value":[]}])"},
      {R"({"a":null})", R"({"a":1})", R"([{"op":"replace","path":"/a","value":1}])"},
      {R"([1,2,3])", R"([0,1,2,3])", R"([{"op":"add","path":"/0","value":0}])"},
      {R"([1,2,3])", R"([1,3])", R"([{"op":"remove","path":"/1"}])"},
      {R"([1,2])", R"([1,2,3])", R"([{"op":"add","path":"/2","value":3}])"},
      {R"([{"name":"a","x":1}])", R"([{"name":"b"},{"name":"a","x":2}])",
       R"([{"op":"add","path":"/0","value":{"name":"b"}},)"
       R"({"op":"replace","path":"/1/x","value":2}])"},
      {R"([{"x":1},{"x":2}])", R"([{"x":3},{"x":4}])",
       R"([{"op":"replace","path":"/0/x","value":3},{"op":"replace","path":"/1/x","value":4}])"},
  };
  for (const auto& fact : facts) EXPECT_EQ(DiffText(fact.before, fact.after), fact.patch);
}

// Small documents of few names and values, so that much is equal.
Value Random(Arena& arena, std::mt19937& random, int depth) {
  const auto below = [&](std::uint32_t limit) { return random() % limit; };
  switch (depth == 0 ? below(2) : below(5)) {
    case 0:
      return Value::Int(static_cast<std::int64_t>(below(3)));
    case 1:
      return Value::StringView(below(2) == 0 ? "x" : "y");
    case 2:
    case 3: {
      ObjectBuilder object(arena);
      for (const std::string_view name : {"name", "b", "c/d", "e"}) {
        if (below(2) == 0) object.Set(name, Random(arena, random, depth - 1));
      }
      return object.Build();
    }
    default: {
      ArrayBuilder array(arena);
      for (auto left = below(5); left > 0; --left) array.Add(Random(arena, random, depth - 1));
      return array.Build();
    }
  }
}

TEST(DiffTest, TurnsOneDocumentIntoTheOther) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    Arena arena;
    const Value before = MakeObject(arena, {{"root", Random(arena, random, 4)}});
    const Value after = MakeObject(arena, {{"root", Random(arena, random, 4)}});
    const Value patch = Diff(arena, before, after);
    const auto patched = ApplyPatch(arena, before, patch);
    ASSERT_TRUE(patched.ok()) << patched.status().message() << " " << ToString(patch);
    ASSERT_TRUE(*patched == after)
        << ToString(before) << " " << ToString(after) << " " << ToString(patch);
  }
}

TEST(DiffTest, AlignsByNameThenByPositionThenByEquality) {
  Arena arena;
  const auto align = [&](std::string_view before, std::string_view after) {
    return AlignElements(Parse(arena, before).value(), Parse(arena, after).value());
  };
  using Aligned = std::vector<std::ptrdiff_t>;
  EXPECT_EQ(align("[1,2]", "[]"), Aligned{});
  EXPECT_EQ(align("[]", "[1]"), Aligned{kNewElement});
  EXPECT_EQ(align("[1,2,3]", "[1,5,3]"), (Aligned{0, 1, 2}));
  EXPECT_EQ(align("[1,2,3,4]", "[9,2,8,4,7]"),
            (Aligned{kNewElement, 1, kNewElement, 3, kNewElement}));
  EXPECT_EQ(align(R"([{"name":"a"},{"name":"b"}])", R"([{"name":"b","x":1},{"name":"a","x":1}])"),
            (Aligned{1, kNewElement}));
}

}  // namespace
}  // namespace portcullis::json
