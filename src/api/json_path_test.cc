// SPDX-License-Identifier: Apache-2.0

#include "api/json_path.h"

#include <gtest/gtest.h>

#include <utility>

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

}  // namespace
}  // namespace portcullis::api
