// SPDX-License-Identifier: Apache-2.0

#include "json/value.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>

#include "base/memory_reserve.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

static_assert(std::is_trivially_copyable_v<Value>);
static_assert(std::is_trivially_copyable_v<Member>);

TEST(Value, Fallbacks) {
  const Value null{};
  EXPECT_EQ(null.AsString("x"), "x");
  EXPECT_EQ(null.AsInt(7), 7);
  EXPECT_TRUE(null.AsBool(true));
  EXPECT_EQ(Value::Int(3).AsDouble(), 3.0);
  EXPECT_EQ(Value::Double(2.5).AsInt(9), 9);
  EXPECT_TRUE(null["a"]["b"][std::size_t{3}].is_null());
  EXPECT_EQ(null.size(), 0U);
}

TEST(Value, LooksUpInSmallAndLargeObjects) {
  Arena arena;
  for (const int count : {0, 1, 3, 16, 17, 100, 1000}) {
    ObjectBuilder builder(arena);
    for (int i = 0; i < count; ++i) {
      builder.Set(arena.Copy("name-" + std::to_string(i)), i);
    }
    const Value object = builder.Build();
    ASSERT_EQ(object.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(object["name-" + std::to_string(i)].AsInt(-1), i);
    }
    EXPECT_FALSE(object.Has("name-" + std::to_string(count)));
    EXPECT_FALSE(object.Has(""));
  }
}

TEST(Value, SurvivesCollidingHashes) {
  Arena arena;
  std::vector<Member> members;
  for (int i = 0; i < 100; ++i) {
    members.emplace_back(arena.Copy(std::to_string(i)), Value::Int(i));
    members.back().hash = 42;
  }
  const Value object = MakeObject(arena, members);
  for (int i = 0; i < 100; ++i) {
    const Value* found = object.Find(std::to_string(i), 42);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->AsInt(), i);
  }
  EXPECT_EQ(object.Find("100", 42), nullptr);
}

TEST(Value, TellsNamesOfOneHashApartByEveryByte) {
  Arena arena;
  for (std::size_t size = 1; size <= 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      const std::string name(size, 'a');
      std::string other = name;
      other[at] = 'b';
      Member member(other, Value::Int(1));
      member.hash = HashKey(name);
      const Value object = MakeObject(arena, {member, Member(name, Value::Int(2))});
      EXPECT_EQ(object[name].AsInt(), 2) << size << " " << at;
      EXPECT_EQ(MakeObject(arena, {member}).Find(name), nullptr) << size << " " << at;
    }
  }
}

TEST(Value, HashesDependOnEveryByte) {
  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    for (std::size_t i = 0; i < size; ++i) {
      // Three bytes and fewer are sampled at both ends and the middle, which covers them all.
      std::string other = text.substr(0, size);
      other[i] = '#';
      EXPECT_NE(HashKey(text.substr(0, size)), HashKey(other)) << size << " " << i;
    }
  }
}

TEST(Value, NamesInTheSourceAreHashedAsOthersAre) {
  Arena arena;
  const Value object = *Parse(
      arena,
      R"({"":0,"ab":1,"name":2,"abcdefg":3,"metadata":4,"ninechars":5,"of seventeen byte":6})");
  EXPECT_EQ(object[""].AsInt(-1), 0);
  EXPECT_EQ(object["ab"].AsInt(), 1);
  EXPECT_EQ(object["name"].AsInt(), 2);
  EXPECT_EQ(object["abcdefg"].AsInt(), 3);
  EXPECT_EQ(object["metadata"].AsInt(), 4);
  EXPECT_EQ(object["ninechars"].AsInt(), 5);
  EXPECT_EQ(object["of seventeen byte"].AsInt(), 6);
  for (const Member& member : object.members()) {
    EXPECT_EQ(object[member.name()].AsInt(-1), member.value.AsInt()) << member.name();
  }
  EXPECT_FALSE(object.Has("ninecharz"));
  EXPECT_EQ(object.Find("metadatb"), nullptr);
}

TEST(Value, EditsLeaveTheOriginalAlone) {
  Arena arena;
  const Value before = *Parse(arena, R"({"metadata":{"labels":{"a":"1"}},"spec":{"x":[1,2]}})");
  const Value after = SetPath(arena, before, {"metadata", "labels", "b"}, Value::StringView("2"));
  EXPECT_EQ(ToString(after), R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"x":[1,2]}})");
  EXPECT_EQ(ToString(before), R"({"metadata":{"labels":{"a":"1"}},"spec":{"x":[1,2]}})");
  EXPECT_TRUE(after["spec"].IsSameAs(before["spec"]));
  EXPECT_EQ(ToString(SetPath(arena, Value(), {"a", "b"}, Value::Int(1))), R"({"a":{"b":1}})");
  EXPECT_EQ(ToString(RemovePath(arena, before, {"metadata", "labels"})),
            R"({"metadata":{},"spec":{"x":[1,2]}})");
  EXPECT_TRUE(RemovePath(arena, before, {"none", "x"}).IsSameAs(before));
  EXPECT_EQ(ToString(WithElement(arena, before["spec"]["x"], 1, Value())), "[1,null]");
  EXPECT_EQ(ToString(Append(arena, Value(), Value::Int(1))), "[1]");
}

TEST(Value, Equality) {
  Arena arena;
  const auto equal = [&](std::string_view a, std::string_view b) {
    return *Parse(arena, a) == *Parse(arena, b);
  };
  EXPECT_TRUE(equal(R"({"a":1,"b":[true,null]})", R"({"b":[true,null],"a":1})"));
  EXPECT_FALSE(equal("1", "1.0"));
  EXPECT_TRUE(equal("1.50", "1.5"));
  EXPECT_FALSE(equal("[]", "{}"));
  EXPECT_FALSE(equal("{}", "null"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"b":1})"));
  EXPECT_TRUE(equal(R"("\u0041")", R"("A")"));
}

TEST(Value, BuilderSetsAndRemoves) {
  Arena arena;
  ObjectBuilder builder(arena);
  for (int i = 0; i < 100; ++i) builder.Set(arena.Copy(std::to_string(i)), i);
  builder.Set("7", "seven").Remove("8").Set("100", true).Remove("none");
  const Value object = builder.Build();
  EXPECT_EQ(object.size(), 100U);
  EXPECT_EQ(object["7"].AsString(), "seven");
  EXPECT_FALSE(object.Has("8"));
  EXPECT_TRUE(object["100"].AsBool());
  EXPECT_EQ(object["99"].AsInt(), 99);
  EXPECT_EQ(builder.Find("9")->AsInt(), 9);
}

TEST(Value, DeepCopyStandsOnItsOwn) {
  Arena target;
  Value copy;
  {
    Arena arena;
    copy = DeepCopy(target, *Parse(arena, R"({"a":["text",1.50,{"b":null}]})"));
  }
  EXPECT_EQ(ToString(copy), R"({"a":["text",1.5,{"b":null}]})");
  EXPECT_EQ(copy["a"][std::size_t{1}].NumberLiteral(), "1.50");
}

TEST(Value, Depth) {
  Arena arena;
  EXPECT_EQ(Parse(arena, "1")->depth(), 0U);
  EXPECT_EQ(Parse(arena, "[]")->depth(), 1U);
  EXPECT_EQ(Parse(arena, R"({"a":[{}],"b":1})")->depth(), 3U);
}

TEST(Arena, HandsOutLargeAndSmallPieces) {
  Arena arena;
  const std::string large(100000, 'x');
  const std::string_view a = arena.Copy("a");
  const std::string_view b = arena.Copy(large);
  const std::string_view c = arena.Copy("c");
  EXPECT_EQ(a, "a");
  EXPECT_EQ(b, large);
  EXPECT_EQ(c, "c");
  EXPECT_EQ(arena.bytes_used(), 100002U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.Allocate(24)) % alignof(std::max_align_t), 0U);
}

TEST(Arena, AsksForMemoryWhenItHasMuch) {
  constexpr std::size_t kMuch = std::size_t{16} << 20;
  base::LimitMemory(1);
  for (const std::size_t size : {std::size_t{100}, std::size_t{3000}, std::size_t{900'000}}) {
    Arena arena;
    while (arena.bytes_used() + size <= kMuch) arena.Allocate(size);
    const auto take_more = [&] {
      while (arena.bytes_used() < kMuch + (std::size_t{2} << 20)) arena.Allocate(size);
    };
    EXPECT_THROW(take_more(), std::bad_alloc) << size;
  }
  const auto owner = std::make_shared<int>(1);
  const auto retain_many = [&] {
    Arena arena;
    for (int i = 0; i < 100'000; ++i) arena.Retain(owner);
  };
  EXPECT_THROW(retain_many(), std::bad_alloc);
  base::LimitMemory(std::numeric_limits<std::size_t>::max());
}

TEST(Arena, RetainsOwners) {
  auto owner = std::make_shared<int>(1);
  {
    Arena arena;
    arena.Retain(owner);
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace portcullis::json
