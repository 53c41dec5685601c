// SPDX-License-Identifier: Apache-2.0

#include "json/merge_patch.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::json {
namespace {

std::string Merged(std::string_view document, std::string_view patch) {
  Arena arena;
  const auto result = MergePatch(arena, *Parse(arena, document), *Parse(arena, patch));
  return result.ok() ? ToString(*result) : result.status().message();
}

TEST(MergePatch, ExamplesOfTheRfc) {
  EXPECT_EQ(Merged(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(Merged(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(Merged(R"({"a":"b"})", R"({"a":null})"), "{}");
  EXPECT_EQ(Merged(R"({"a":"b","b":"c"})", R"({"a":null})"), R"({"b":"c"})");
  EXPECT_EQ(Merged(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(Merged(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(Merged(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(Merged(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(Merged(R"(["a","b"])", R"(["c","d"])"), R"(["c","d"])");
  EXPECT_EQ(Merged(R"({"a":"b"})", R"(["c"])"), R"(["c"])");
  EXPECT_EQ(Merged(R"({"e":null})", R"({"a":1})"), R"({"e":null,"a":1})");
  EXPECT_EQ(Merged(R"([1,2])", R"({"a":"b","c":null})"), R"({"a":"b"})");
  EXPECT_EQ(Merged("{}", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(MergePatch, WhereKubernetesDeparts) {
  EXPECT_EQ(Merged(R"({"a":1})", R"({"a":[{"x":null,"y":1},null]})"), R"({"a":[{"y":1},null]})");
  EXPECT_EQ(Merged(R"({"a":{}})", R"({"a":[{"x":null}]})"), R"({"a":[{"x":null}]})");
  EXPECT_EQ(Merged(R"({"a":null})", R"({"a":{"x":null}})"), R"({"a":{}})");
  EXPECT_EQ(Merged("{}", "1"), "Invalid JSON Patch");
  EXPECT_EQ(Merged("{}", "null"), "Invalid JSON Patch");
  EXPECT_EQ(Merged("null", "{}"), "Invalid JSON Document");
}

}  // namespace
}  // namespace portcullis::json
