// SPDX-License-Identifier: Apache-2.0

#include "json/verbatim.h"

#include <gtest/gtest.h>

#include "json/writer.h"

namespace portcullis::json {
namespace {

TEST(CompactTest, TakesSpacesAwayAndEscapesWhatGoEscapes) {
  EXPECT_EQ(Compact(" { \"a b\" :\n[ 1.0 ,\t2 ] }\r\n"), R"({"a b":[1.0,2]})");
  EXPECT_EQ(Compact(R"({"<":"a\"<b>&"})"), R"({"\u003c":"a\"\u003cb\u003e\u0026"})");
  EXPECT_EQ(Compact("\"\xE2\x80\xA8 \xE2\x80\xA9 \xE2\x80\xA6\""),
            "\"\\u2028 \\u2029 \xE2\x80\xA6\"");
  EXPECT_EQ(Compact(R"("\\")"), R"("\\")");
  EXPECT_EQ(Compact(R"(["\/","\u0061"])"), R"(["\/","\u0061"])");
}

TEST(ParseVerbatimTest, TheWriterWritesTheTextThatWasRead) {
  Arena arena;
  constexpr std::string_view kText = R"({"a":1.0,"b":["\u0061",1e2],"b":{"c":-0}})";

  const auto value = ParseVerbatim(arena, kText);

  ASSERT_TRUE(value.ok());
  EXPECT_EQ(ToString(*value), kText);
  EXPECT_EQ((*value)["b"].source(), R"({"c":-0})");
  EXPECT_EQ(ToString(With(arena, *value, "a", Value::Int(2))), R"({"a":2,"b":{"c":-0}})");
  EXPECT_EQ(ToString(DeepCopy(arena, *value)), R"({"a":1,"b":{"c":0}})");
}

TEST(CopyVerbatimTest, KeepsTextsThatItCopiesOnce) {
  constexpr std::string_view kText = R"({"a":{"b":[1.0,{"c":"\u0061"}],"d":"\u0062"}})";
  Arena arena;
  Value copy;
  {
    Arena other;
    const std::string text(kText);
    const Value value = With(other, *ParseVerbatim(other, text), "e", Value::Int(2));
    ASSERT_TRUE(value.source().empty());
    copy = CopyVerbatim(arena, value);
  }
  EXPECT_EQ(ToString(copy), R"({"a":{"b":[1.0,{"c":"\u0061"}],"d":"\u0062"},"e":2})");
  const std::string_view outer = copy["a"].source();
  EXPECT_EQ(copy["a"]["b"].source(), R"([1.0,{"c":"\u0061"}])");
  EXPECT_EQ(copy["a"]["b"].source().data(), outer.data() + 5);
  EXPECT_EQ(copy["a"]["b"][1].source().data(), outer.data() + 10);
  EXPECT_EQ(copy["a"]["d"].AsString(), "b");
}

TEST(ParseVerbatimTest, RefusesWhatIsNoJson) {
  Arena arena;
  EXPECT_FALSE(ParseVerbatim(arena, R"({"a":})").ok());
}

}  // namespace
}  // namespace portcullis::json
