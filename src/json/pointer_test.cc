// SPDX-License-Identifier: Apache-2.0

#include "json/pointer.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

TEST(Pointer, ExamplesOfTheRfc) {
  Arena arena;
  const Value document = *Parse(arena, R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,
                                           "g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  const auto at = [&](std::string_view pointer) {
    const auto value = Resolve(document, pointer);
    return value ? ToString(*value) : "none";
  };
  EXPECT_TRUE(Resolve(document, "")->IsSameAs(document));
  EXPECT_EQ(at("/foo"), R"(["bar","baz"])");
  EXPECT_EQ(at("/foo/0"), R"("bar")");
  EXPECT_EQ(at("/"), "0");
  EXPECT_EQ(at("/a~1b"), "1");
  EXPECT_EQ(at("/c%d"), "2");
  EXPECT_EQ(at("/e^f"), "3");
  EXPECT_EQ(at("/g|h"), "4");
  EXPECT_EQ(at("/i\\j"), "5");
  EXPECT_EQ(at("/k\"l"), "6");
  EXPECT_EQ(at("/ "), "7");
  EXPECT_EQ(at("/m~0n"), "8");
  for (const std::string_view nowhere : {"foo", "/foo/2", "/foo/-", "/foo/00", "/foo/x", "/foo/",
                                         "/none", "/foo/0/x", "/a~2b", "/m~"}) {
    EXPECT_EQ(at(nowhere), "none") << nowhere;
  }
}

TEST(Pointer, Tokens) {
  EXPECT_EQ(*ParsePointer("/a~1b/~01//x"), (std::vector<std::string>{"a/b", "~1", "", "x"}));
  EXPECT_FALSE(ParsePointer("a").ok());
  EXPECT_EQ(EscapeToken("a/b~c"), "a~1b~0c");
  EXPECT_EQ(UnescapeToken("a~1b~0c~"), "a/b~c~");
}

}  // namespace
}  // namespace portcullis::json
