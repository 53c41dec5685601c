// SPDX-License-Identifier: Apache-2.0

#include "cel/library/regex.h"

#include <gtest/gtest.h>

#include "cel/library/simple_pattern.h"

namespace portcullis::cel {
namespace {

std::string ErrorOf(std::string_view pattern) { return Regex::Compile(pattern).status().message(); }

TEST(RegexTest, SpeaksOfErrorsAsGoDoes) {
  EXPECT_EQ(ErrorOf("a("), "error parsing regexp: missing closing ): `a(`");
  EXPECT_EQ(ErrorOf("a["), "error parsing regexp: missing closing ]: `[`");
  EXPECT_EQ(ErrorOf("*a"), "error parsing regexp: missing argument to repetition operator: `*`");
  EXPECT_EQ(ErrorOf("a{2000}"), "error parsing regexp: invalid repeat count: `{2000}`");
  EXPECT_EQ(ErrorOf("a\\"), "error parsing regexp: trailing backslash at end of expression: ``");
}

// What Go's syntax has and RE2's has not, and the other way round.
TEST(RegexTest, UnderstandsTheSyntaxOfGo) {
  const auto matches = [](std::string_view pattern, std::string_view text) {
    const auto regex = Regex::Compile(pattern);
    EXPECT_TRUE(regex.ok()) << regex.status().message();
    return regex.ok() && (*regex)->Matches(text);
  };
  EXPECT_TRUE(matches("^(?<n>a)(?P<m>b)$", "ab"));
  EXPECT_TRUE(matches("^[(?<n>]+$", "(?<n>"));
  EXPECT_TRUE(matches("^\\(?<n>$", "<n>"));
  EXPECT_TRUE(matches("^\\Q(?<n>\\C\\E$", "(?<n>\\C"));
  EXPECT_TRUE(matches("^\\p{Letter}[\\p{Decimal_Number}]\\P{Lu}$", "é4a"));
  EXPECT_FALSE(matches("^\\p{^letter}$", "a"));
  EXPECT_EQ(ErrorOf("a\\C"), "error parsing regexp: invalid escape sequence: `\\C`");
  EXPECT_EQ(ErrorOf("(?<n"), "error parsing regexp: invalid named capture: `(?<n`");
  EXPECT_EQ(ErrorOf("x(?<a b>c)"), "error parsing regexp: invalid named capture: `(?<a b>`");
  EXPECT_EQ(ErrorOf("(?<=a)b"), "error parsing regexp: invalid named capture: `(?<=a)b`");
  EXPECT_EQ(ErrorOf("(?<"), "error parsing regexp: invalid or unsupported Perl syntax: `(?<`");
}

TEST(RegexTest, FindsAllMatches) {
  const auto regex = Regex::Compile("a*");
  ASSERT_TRUE(regex.ok());
  const std::vector<std::string_view> expected = {"", "aa", ""};
  EXPECT_EQ((*regex)->FindAll("baab", -1), expected);
  EXPECT_EQ((*regex)->FindAll("baab", 1).size(), 1U);
}

// The short way agrees with the engine on every text of three characters of a small alphabet.
TEST(RegexTest, SimplePatternsMatchTheSame) {
  int simple = 0;
  for (const char* pattern : {"^[a-z]+$", "^a", "^ab?c*$", "^[a-c-]*b$", "^[^a]$", "^a-\\d+$",
                              "^[a-z0-9./-]+$", "^$", "^a|b$", "^(a)$", "^a*a$", "^[-a]+b?",
                              "^a?[bc]+$", "^\\.$", "^.$", "^a{2}$", "^[a\\-b]+$"}) {
    const auto parsed = SimplePattern::Parse(pattern);
    // A group around it keeps the engine from taking the short way.
    const auto regex = Regex::Compile("(?:" + std::string(pattern) + ")");
    ASSERT_TRUE(regex.ok()) << pattern;
    if (!parsed) continue;
    ++simple;
    constexpr std::string_view kAlphabet = "abc-.1\n";
    for (std::size_t i = 0; i < 7 * 7 * 7 * 7; ++i) {
      std::string text;
      std::size_t rest = i;
      for (std::size_t n = rest % 4; text.size() < n;) {
        text += kAlphabet[rest / 4 % 7];
        rest = rest / 4 / 7 * 4;
      }
      EXPECT_EQ(parsed->Matches(text), (*regex)->Matches(text)) << pattern << " on " << text;
    }
  }
  EXPECT_GE(simple, 8);
}

}  // namespace
}  // namespace portcullis::cel
