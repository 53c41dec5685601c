// SPDX-License-Identifier: Apache-2.0

#include "json/edit.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

Value Read(Arena& arena, std::string_view text) { return Parse(arena, text).value(); }

TEST(EditTest, ElementsAreReplacedInOnePass) {
  Arena arena;
  const Value list = Read(arena, "[1,2,3,4]");
  const Value edited = EditElements(
      arena, list, [](Value v) { return v.AsInt() % 2 == 0 ? Value::Int(v.AsInt() * 10) : v; });
  EXPECT_EQ(ToString(edited), "[1,20,3,40]");
  EXPECT_EQ(ToString(list), "[1,2,3,4]");
}

TEST(EditTest, NothingIsCopiedWhereNothingChanges) {
  Arena arena;
  const Value list = Read(arena, R"([{"a":1},{"b":2}])");
  const Value object = Read(arena, R"({"a":{"b":2}})");
  const std::size_t before = arena.bytes_used();
  EXPECT_TRUE(EditElements(arena, list, [](Value v) { return v; }).IsSameAs(list));
  EXPECT_TRUE(EditMembers(arena, object, [](const Member& m) { return m.value; }).IsSameAs(object));
  EXPECT_EQ(EditElements(arena, Value(), [](Value v) { return v; }).type(), Type::kNull);
  EXPECT_EQ(arena.bytes_used(), before);
}

TEST(EditTest, MembersAreReplacedInOnePass) {
  Arena arena;
  const Value object = Read(arena, R"({"a":1,"b":2})");
  const Value edited = EditMembers(arena, object, [&](const Member& member) {
    return member.name() == "b" ? String(arena, "two") : member.value;
  });
  EXPECT_EQ(ToString(edited), R"({"a":1,"b":"two"})");
}

TEST(EditTest, MemberIsAsTheSourceHasIt) {
  Arena arena;
  const Value object = Read(arena, R"({"a":1,"b":2})");
  EXPECT_EQ(ToString(WithMemberOf(arena, object, "a", Read(arena, R"({"a":3})"))),
            R"({"a":3,"b":2})");
  EXPECT_EQ(ToString(WithMemberOf(arena, object, "a", Read(arena, R"({"a":null})"))),
            R"({"a":null,"b":2})");
  EXPECT_EQ(ToString(WithMemberOf(arena, object, "a", Read(arena, R"({"b":3})"))), R"({"b":2})");
}

TEST(EditTest, MembersAreSetAndRemovedTogether) {
  Arena arena;
  const Value object = Read(arena, R"({"a":1,"b":2,"c":null})");
  const Value changes = Read(arena, R"({"d":4,"a":null,"b":3,"e":null})");
  EXPECT_EQ(ToString(WithMembers(arena, object, changes)), R"({"b":3,"c":null,"d":4})");
  EXPECT_EQ(ToString(WithMembers(arena, Value(), changes)), R"({"d":4,"b":3})");
}

TEST(EditTest, MemoryIsThatOfOneCopy) {
  const auto bytes = [](std::size_t size) {
    Arena arena;
    ArrayBuilder list(arena);
    for (std::size_t i = 0; i < size; ++i) list.Add(Value::Int(1));
    const Value built = list.Build();
    const std::size_t before = arena.bytes_used();
    EditElements(arena, built, [](Value v) { return Value::Int(v.AsInt() + 1); });
    return arena.bytes_used() - before;
  };
  EXPECT_LT(bytes(2000), 3 * bytes(1000));
}

}  // namespace
}  // namespace portcullis::json
