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

TEST(ParseVerbatimTest, RefusesWhatIsNoJson) {
  Arena arena;
  EXPECT_FALSE(ParseVerbatim(arena, R"({"a":})").ok());
}

}  // namespace
}  // namespace portcullis::json
