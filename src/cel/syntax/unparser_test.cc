// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/unparser.h"

#include <gtest/gtest.h>

#include <random>

#include "cel/syntax/parser.h"
#include "cel/testing/fixture.h"
#include "cel/testing/generator.h"

namespace portcullis::cel {
namespace {

std::string RoundTrip(const Environment& environment, std::string_view text) {
  const Compilation compilation = environment.Check(text);
  return compilation.ast ? Unparse(*compilation.ast->root()) : compilation.ErrorText();
}

TEST(UnparserTest, WritesWhatWasRead) {
  testing::Fixture fixture;
  for (const char* text : {
           "1 + 2 * 3",
           "(1 + 2) * 3",
           "1 - (2 - 3)",
           "-(-1)",
           "!(x == 1 || y == 2) && true",
           "x ? 1 : 2",
           "(x ? true : false) ? 1 : 2",
           "object.metadata.labels[\"a\"].size() > 0",
           "has(object.spec.on) && object.?spec[?\"a\"].orValue(true)",
           "names.all(n, n.startsWith(\"a\"))",
           "names.filter(n, n != \"a\").map(n, n + \"b\")",
           "names.map(n, n != \"a\", n)",
           "{\"a\": [1, 2], \"b\": []}.exists(k, v, v == [])",
           "[?optional.none(), 1]",
           "b\"\\xff\" == b\"\\x00\"",
           "\"a\\\"b\\\\\\n\"",
           "1.5 + 2.0 > 1e+30",
       }) {
    const std::string once = RoundTrip(fixture.environment(), text);
    if (std::string_view(text).find(", n)") == std::string_view::npos) {
      EXPECT_EQ(once, text);
    }
    EXPECT_EQ(RoundTrip(fixture.environment(), once), once);
  }
}

TEST(UnparserTest, QuotesFieldsThatAreNoNames) {
  const ParseOptions options = {.quoted_fields = true};
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"a.`b-c`.?`d/e`", "a.`b-c`.?`d/e`"},
      {"a.`b`.`in`", "a.b.`in`"},
      {"T{`x.y`: 1}", "T{`x.y`: 1}"},
  };
  for (const auto& [text, printed] : rows) {
    Issues issues;
    const auto ast = Parse(text, options, issues);
    ASSERT_NE(ast, nullptr) << text;
    EXPECT_EQ(Unparse(*ast->root()), printed);
  }
}

TEST(UnparserTest, MeansTheSame) {
  testing::Fixture fixture;
  std::mt19937 random(7);
  int compared = 0;
  for (int i = 0; i < 1500; ++i) {
    std::vector<std::uint8_t> bytes(8 + random() % 60);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    const std::string text = testing::GenerateExpression(bytes);
    // These are expanded into something that has no notation.
    if (text.find("sortBy") != std::string::npos || text.find("optMap") != std::string::npos)
      continue;
    const testing::Evaluated before = fixture.Run(text);
    if (before.text.starts_with("compile")) continue;
    ++compared;
    const std::string again = RoundTrip(fixture.environment(), text);
    const testing::Evaluated after = fixture.Run(again);
    EXPECT_EQ(after.text, before.text) << text << "\n" << again;
    EXPECT_EQ(after.cost, before.cost) << text << "\n" << again;
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace portcullis::cel
