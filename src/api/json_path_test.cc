// SPDX-License-Identifier: Apache-2.0

#include "api/json_path.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace portcullis::api {
namespace {

// Recorded from k8s.io/client-go/util/jsonpath; "" if it reads the path.
TEST(JsonPathTest, RefusesWithKubernetesTexts) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", ""},
      {".spec.validations[0].expression", ""},
      {"spec", ""},
      {"$.a['b', 'c'][-1][::2]..d.*", ""},
      {".a[?(@.b == \"]\")].c", ""},
      {".a}b{.c", ""},
      {".a['b.c']", ""},
      {".a[\"b\"]", "invalid array index \"b\""},
      {".a[b]", "invalid array index b"},
      {".a[1:2:3:4]", "invalid array index 1:2:3:4"},
      {".a[-]", "array index - is not a number"},
      {".a[99999999999999999999]", "array index 99999999999999999999 is not a number"},
      {".a[", "unterminated array"},
      {".a[1\n]", "unterminated array"},
      {".a['b[c']", "unterminated array"},
      {".a[?(@.b]", "unterminated filter"},
      {".a[?(@.b)", "unclosed array expect ]"},
      {".a[?(==1)]", "unrecognized character in action: U+003D '='"},
      {".a[?(@.b==\")]", "unterminated filter"},
      {"\"a", "unterminated quoted string"},
      {R"("a\q")", R"(unquote string "a\q" error invalid syntax)"},
      {R"('\u00e9\x41\101\'')", ""},
      {"....a", "invalid multiple recursive descent"},
      {"1.2.3", "cannot parse number 1.2.3"},
      {"-", "cannot parse number -"},
      {"99999999999999999999", ""},
      {"a\nb", "unclosed action"},
      {"!", "unrecognized character in action: U+0021 '!'"},
      {"\t", "unrecognized character in action: U+0009"},
      {"\u200b", "unrecognized character in action: U+200B"},
      {"é", ""},
  };
  for (const auto& [path, expected] : rows) {
    const auto parsed = ParseJsonPath(path);
    EXPECT_EQ(parsed.ok() ? "" : parsed.status().message(), expected) << path;
  }
}

TEST(JsonPathTest, NestsThePathsOfFiltersAndUnions) {
  using Kind = JsonPathNode::Kind;
  const auto path = ParseJsonPath(R"(.a\.b['c',0][?(@.d=="e\"f")][?(@)].g)");
  ASSERT_TRUE(path.ok());
  const std::vector<JsonPathNode> expected = {
      {.kind = Kind::kField, .text = "a.b"},
      {.kind = Kind::kUnion, .size = 2},
      {.kind = Kind::kField, .ends_path = true, .text = "c"},
      {.kind = Kind::kSlice, .ends_path = true, .text = "0"},
      {.kind = Kind::kFilter, .size = 2, .text = "=="},
      {.kind = Kind::kField, .ends_path = true, .text = "d"},
      {.kind = Kind::kText, .ends_path = true, .text = "e\"f"},
      {.kind = Kind::kFilter, .size = 1},
      {.kind = Kind::kSelf, .ends_path = true},
      {.kind = Kind::kField, .text = "g"},
  };
  EXPECT_EQ(path->nodes, expected);
}

// kube-apiserver has no limit but that of a request, so a long path has to be cheap.
TEST(JsonPathTest, KeepsAtMostOneSmallNodeForEachCharacter) {
  static_assert(sizeof(JsonPathNode) <= 24);
  const std::string commas(100000, ',');
  std::string fields;
  for (int i = 0; i < 50000; ++i) fields += ".a";
  for (const std::string& text : {base::StrCat("[", commas, "]"), fields}) {
    const auto path = ParseJsonPath(text);
    ASSERT_TRUE(path.ok());
    EXPECT_LE(path->nodes.capacity(), text.size());
    EXPECT_TRUE(path->texts.empty());
  }
}

}  // namespace
}  // namespace portcullis::api
