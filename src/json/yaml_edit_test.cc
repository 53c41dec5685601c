// SPDX-License-Identifier: Apache-2.0

#include "json/yaml_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"

namespace portcullis::json {
namespace {

using ::testing::HasSubstr;

// The text with the value (itself YAML) at the path, or the error.
std::string Edited(std::string_view text, std::vector<std::string> path, std::string_view value) {
  Arena arena;
  const auto parsed = ParseYaml(arena, value);
  EXPECT_TRUE(parsed.ok());
  const std::vector<YamlChange> changes = {{std::move(path), *parsed}};
  const auto edited = EditYaml(text, changes);
  return edited.ok() ? *edited : "error: " + edited.status().message();
}

TEST(YamlEdit, ReplacesScalars) {
  EXPECT_EQ(Edited("a: 1  # one\nb: 2\n", {"a"}, "7"), "a: 7  # one\nb: 2\n");
  EXPECT_EQ(Edited("a: 'x'\n", {"a"}, "some words"), "a: some words\n");
  EXPECT_EQ(Edited("a: x\n", {"a"}, "'yes'"), "a: \"yes\"\n");
  EXPECT_EQ(Edited("a: |\n  x\n  y\nb: 1\n", {"a"}, "'say \"no\"'"),
            "a: \"say \\\"no\\\"\"\nb: 1\n");
  EXPECT_EQ(Edited("a:\nb: 1\n", {"a"}, "2"), "a: 2\nb: 1\n");
  EXPECT_EQ(Edited("- a\n- b\n", {"1"}, "c"), "- a\n- c\n");
}

TEST(YamlEdit, ChangesMembersInTheirPlaces) {
  EXPECT_EQ(Edited("e: {verdict: deny, code: 403}  # why\n", {"e"}, "{verdict: allow, code: 201}"),
            "e: {verdict: allow, code: 201}  # why\n");
  EXPECT_EQ(Edited("e: {a: 1, b: 2, c: 3}\n", {"e"}, "{a: 1}"), "e: {a: 1}\n");
  EXPECT_EQ(Edited("e: {a: 1, b: 2, c: 3}\n", {"e"}, "{c: 4}"), "e: {c: 4}\n");
  EXPECT_EQ(Edited("e: {a: 1, b: 2, c: 3, d: 4}\n", {"e"}, "{a: 1, c: 3, f: x}"),
            "e: {f: x, a: 1, c: 3}\n");
  EXPECT_EQ(Edited("e:\n  a: 1  # first\n  # of b\n  b: 2\n  c: 3\n", {"e"}, "{a: 1, c: 4, d: x}"),
            "e:\n  d: x\n  a: 1  # first\n  # of b\n  c: 4\n");
  EXPECT_EQ(Edited("l:\n- a: 1\n  b: 2\n- c: 3\n", {"l", "0"}, "{b: 2}"), "l:\n- b: 2\n- c: 3\n");
}

TEST(YamlEdit, WritesCollectionsInTheStyleAround) {
  EXPECT_EQ(Edited("e: {l: [1, 2]}\n", {"e", "l"}, "[{a: b c}, 2, 3]"),
            "e: {l: [{a: b c}, 2, 3]}\n");
  EXPECT_EQ(Edited("e:\n  l:\n  - 1\nf: 1\n", {"e", "l"}, "[1, {a: 2, b: 3}]"),
            "e:\n  l:\n  - 1\n  - a: 2\n    b: 3\nf: 1\n");
  EXPECT_EQ(Edited("e:\n  l: 1\nf: 1\n", {"e", "l"}, "{a: {b: 1}}"),
            "e:\n  l:\n    a:\n      b: 1\nf: 1\n");
  EXPECT_EQ(Edited("e:\n  l:\n    a: 1\nf: 1\n", {"e", "l"}, "{}"), "e:\n  l: {}\nf: 1\n");
  EXPECT_EQ(Edited("e:\n- 1\nf: 1\n", {"e"}, "{a: 1}"), "e:\n  a: 1\nf: 1\n");
  EXPECT_EQ(Edited("l:\n- {a: 1}\n- 2\n", {"l", "1"}, "{c: 1, d: 2}"),
            "l:\n- {a: 1}\n- c: 1\n  d: 2\n");
}

TEST(YamlEdit, RemovesElements) {
  EXPECT_EQ(Edited("l:\n- a: 1\n  # two\n  b: 2\n# of c\n- c: 3\n- d\n", {"l"}, "[{c: 3}, d]"),
            "l:\n# of c\n- c: 3\n- d\n");
  EXPECT_EQ(Edited("l: [a, b, c]\n", {"l"}, "[b]"), "l: [b]\n");
  EXPECT_EQ(Edited("l:\n  - a\n  - b\n", {"l"}, "[a]"), "l:\n  - a\n");
}

TEST(YamlEdit, ChangesJson) {
  EXPECT_EQ(Edited("{\n  \"a\": {\"b\": \"x\"}\n}\n", {"a"}, "{b: w, c: [z]}"),
            "{\n  \"a\": {\"c\": [\"z\"], \"b\": \"w\"}\n}\n");
}

TEST(YamlEdit, CountsCharactersThatTakeSeveralBytes) {
  EXPECT_EQ(Edited("\xEF\xBB\xBF"
                   "a: ä → b\nc: é  # ü\nd: 1\n",
                   {"c"}, "ö"),
            "\xEF\xBB\xBF"
            "a: ä → b\nc: \"ö\"  # ü\nd: 1\n");
}

TEST(YamlEdit, ChangesSeveralPlaces) {
  Arena arena;
  const std::vector<YamlChange> changes = {{{"b"}, Value::Int(3)}, {{"a", "x"}, Value::Int(4)}};
  const auto edited = EditYaml("a: {x: 1}\nb: 2\n", changes);
  ASSERT_TRUE(edited.ok());
  EXPECT_EQ(*edited, "a: {x: 4}\nb: 3\n");
}

TEST(YamlEdit, RefusesWhatStandsElsewhere) {
  EXPECT_THAT(Edited("a: &x {b: 1}\nc: *x\n", {"c"}, "{b: 2}"), HasSubstr("an alias"));
  EXPECT_THAT(Edited("a: &x {b: 1}\nc: *x\n", {"a", "b"}, "2"), HasSubstr("an unusual way"));
  EXPECT_THAT(Edited("a: &x {b: 1}\nc: {<<: *x, d: 1}\n", {"c"}, "{b: 1, d: 2}"),
              HasSubstr("merge keys"));
  EXPECT_THAT(Edited("a: 1\n", {"b"}, "2"), HasSubstr("there is no b"));
  EXPECT_THAT(Edited("? a\n: 1\n", {"a"}, "2"), HasSubstr("not a plain one"));
  EXPECT_THAT(Edited("a: [\n", {"a"}, "2"), HasSubstr("yaml: "));
}

}  // namespace
}  // namespace portcullis::json
