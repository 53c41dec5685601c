// SPDX-License-Identifier: Apache-2.0

// What is said about wrong expressions, letter for letter.
#include <gtest/gtest.h>

#include "cel/syntax/ast.h"
#include "cel/testing/fixture.h"

namespace portcullis::cel {
namespace {

struct Row {
  const char* expression;
  const char* expected;
};

constexpr const char* kStart =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}";

// Replaces START by the set of tokens that may begin an expression.
std::string Expand(std::string text) {
  for (auto at = text.find("START"); at != std::string::npos; at = text.find("START")) {
    text.replace(at, 5, kStart);
  }
  return text;
}

void Expect(std::span<const Row> rows) {
  testing::Fixture fixture;
  for (const Row& row : rows) {
    const Compilation compilation = fixture.environment().Check(row.expression);
    EXPECT_EQ(compilation.issues.ToString(), Expand(row.expected)) << row.expression;
  }
}

TEST(IssuesTest, SyntaxErrors) {
  const Row rows[] = {
      {"", "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting START"},
      {"1 +",
       "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting START\n | 1 +\n"
       " | ...^"},
      {"'x",
       "ERROR: <input>:1:1: Syntax error: token recognition error at: ''x'\n | 'x\n | ^\n"
       "ERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting START\n | 'x\n"
       " | ..^"},
      {"1 + $",
       "ERROR: <input>:1:5: Syntax error: token recognition error at: '$'\n | 1 + $\n | ....^\n"
       "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting START\n | 1 + $\n"
       " | .....^"},
      {"true true",
       "ERROR: <input>:1:6: Syntax error: extraneous input 'true' expecting <EOF>\n | true true\n"
       " | .....^"},
      {"a | b",
       "ERROR: <input>:1:3: Syntax error: token recognition error at: '| '\n | a | b\n | ..^\n"
       "ERROR: <input>:1:5: Syntax error: extraneous input 'b' expecting <EOF>\n | a | b\n"
       " | ....^"},
      {"1 + +",
       "ERROR: <input>:1:5: Syntax error: mismatched input '+' expecting START\n | 1 + +\n | "
       "....^\n"
       "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting START\n | 1 + +\n"
       " | .....^"},
      {"x in [1, 2, ",
       "ERROR: <input>:1:13: Syntax error: missing ']' at '<EOF>'\n | x in [1, 2, \n"
       " | ............^"},
      {"[1, 2",
       "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1, 2\n"
       " | .....^"},
      {"x[",
       "ERROR: <input>:1:3: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', "
       "'-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
       "IDENTIFIER}\n | x[\n | ..^"},
      {"x.?",
       "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {IDENTIFIER, "
       "ESC_IDENTIFIER}\n | x.?\n | ...^"},
      {"!",
       "ERROR: <input>:1:2: Syntax error: extraneous input '<EOF>' expecting START\n | !\n | .^"},
      {"-",
       "ERROR: <input>:1:2: Syntax error: no viable alternative at input '-'\n | -\n | .^\n"
       "ERROR: <input>:1:2: Syntax error: mismatched input '<EOF>' expecting START\n | -\n | .^"},
      // Of two signs none belongs to the literal.
      {"--9223372036854775808",
       "ERROR: <input>:1:3: invalid int literal\n | --9223372036854775808\n | ..^"},
      // What comes behind the dot may go on behind the parentheses: they are taken for closed.
      {"(x. in [1])",
       "ERROR: <input>:1:5: Syntax error: no viable alternative at input '. in'\n | (x. in [1])\n"
       " | ....^\n"
       "ERROR: <input>:1:11: Syntax error: extraneous input ')' expecting <EOF>\n | (x. in [1])\n"
       " | ..........^"},
      {"size(x", "ERROR: <input>:1:7: Syntax error: missing ')' at '<EOF>'\n | size(x\n | ......^"},
      {"x.true",
       "ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n | x.true\n"
       " | ..^"},
      {"x.", "ERROR: <input>:1:3: Syntax error: no viable alternative at input '.'\n | x.\n | ..^"},
      {"{",
       "ERROR: <input>:1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', "
       "'.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
       "BYTES, IDENTIFIER}\n | {\n | .^"},
      {"{'a'}",
       "ERROR: <input>:1:5: Syntax error: mismatched input '}' expecting ':'\n | {'a'}\n | ....^"},
      {"Msg{{a}}",
       "ERROR: <input>:1:5: Syntax error: extraneous input '{' expecting {'}', ',', '?', "
       "IDENTIFIER, ESC_IDENTIFIER}\n | Msg{{a}}\n | ....^\n"
       "ERROR: <input>:1:7: Syntax error: mismatched input '}' expecting ':'\n | Msg{{a}}\n"
       " | ......^\n"
       "ERROR: <input>:1:8: Syntax error: extraneous input '}' expecting <EOF>\n | Msg{{a}}\n"
       " | .......^"},
      {"1 + 2\n3 +",
       "ERROR: <input>:2:1: Syntax error: mismatched input '3' expecting <EOF>\n | 3 +\n | ^"},
      {"if", "ERROR: <input>:1:1: reserved identifier: if\n | if\n | ^"},
      {"99999999999999999999",
       "ERROR: <input>:1:1: invalid int literal\n | 99999999999999999999\n | ^"},
      {"x.`a-b`", "ERROR: <input>:1:3: unsupported syntax: '`'\n | x.`a-b`\n | ..^"},
      {"has(x)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(x)\n | ....^"},
      {"[1].all(1, true)",
       "ERROR: <input>:1:9: argument must be a simple name\n | [1].all(1, true)\n | ........^"},
      {"'漢' + z",
       "ERROR: <input>:1:7: undeclared reference to 'z' (in container '')\n | '漢' + z\n"
       " | .．....^"},
  };
  Expect(rows);
}

TEST(IssuesTest, MacrosBesideSyntaxErrors) {
  const Row rows[] = {
      {"[1, 2 3].map(1, 2)",
       "ERROR: <input>:1:7: Syntax error: extraneous input '3' expecting {']', ','}\n"
       " | [1, 2 3].map(1, 2)\n | ......^\n"
       "ERROR: <input>:1:14: argument is not an identifier\n"
       " | [1, 2 3].map(1, 2)\n | .............^"},
      {"(1 + ) && has(b)",
       "ERROR: <input>:1:6: Syntax error: mismatched input ')' expecting START\n"
       " | (1 + ) && has(b)\n | .....^\n"
       "ERROR: <input>:1:15: invalid argument to has() macro\n"
       " | (1 + ) && has(b)\n | ..............^"},
      {"has(a.b ? c.d)",
       "ERROR: <input>:1:9: invalid argument to has() macro\n"
       " | has(a.b ? c.d)\n | ........^\n"
       "ERROR: <input>:1:14: Syntax error: mismatched input ')' expecting ':'\n"
       " | has(a.b ? c.d)\n | .............^"},
      {"[1].all(x, )",
       "ERROR: <input>:1:12: Syntax error: mismatched input ')' expecting START\n"
       " | [1].all(x, )\n | ...........^"},
  };
  Expect(rows);
}

TEST(IssuesTest, TypeErrors) {
  const Row rows[] = {
      {"z + 1",
       "ERROR: <input>:1:1: undeclared reference to 'z' (in container '')\n | z + 1\n | ^"},
      {"1 + 'x'",
       "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n"
       " | 1 + 'x'\n | ..^"},
      {"1 == 1.0",
       "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'\n"
       " | 1 == 1.0\n | ..^"},
      {"1 == null",
       "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, null)'\n"
       " | 1 == null\n | ..^"},
      {"math.abs(-3)",
       "ERROR: <input>:1:1: undeclared reference to 'math' (in container '')\n | math.abs(-3)\n"
       " | ^\nERROR: <input>:1:9: undeclared reference to 'abs' (in container '')\n"
       " | math.abs(-3)\n | ........^"},
      {"'abc'.reverse()",
       "ERROR: <input>:1:14: found no matching overload for 'reverse' applied to 'string.()'\n"
       " | 'abc'.reverse()\n | .............^"},
      {"regex.replace('a', 'b', 'c')",
       "ERROR: <input>:1:1: undeclared reference to 'regex' (in container '')\n"
       " | regex.replace('a', 'b', 'c')\n | ^\n"
       "ERROR: <input>:1:14: found no matching overload for 'replace' applied to "
       "'!error!.(string, string, string)'\n | regex.replace('a', 'b', 'c')\n | .............^"},
      {"cel.bind(z, 1, z == 1)",
       "ERROR: <input>:1:1: undeclared reference to 'cel' (in container '')\n"
       " | cel.bind(z, 1, z == 1)\n | ^\n"
       "ERROR: <input>:1:9: undeclared reference to 'bind' (in container '')\n"
       " | cel.bind(z, 1, z == 1)\n | ........^\n"
       "ERROR: <input>:1:10: undeclared reference to 'z' (in container '')\n"
       " | cel.bind(z, 1, z == 1)\n | .........^\n"
       "ERROR: <input>:1:16: undeclared reference to 'z' (in container '')\n"
       " | cel.bind(z, 1, z == 1)\n | ...............^"},
      {"number.x",
       "ERROR: <input>:1:7: type 'int' does not support field selection\n | number.x\n | ......^"},
      {"number.all(i, true)",
       "ERROR: <input>:1:1: expression of type 'int' cannot be range of a comprehension (must be "
       "list, map, or dynamic)\n | number.all(i, true)\n | ^"},
      {"[1, 'x'].size() > 0",
       "ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'x'].size() > 0\n"
       " | ....^"},
      {"[1, x]", "ERROR: <input>:1:5: expected type 'int' but found 'dyn'\n | [1, x]\n | ....^"},
      {"number && true",
       "ERROR: <input>:1:1: expected type 'bool' but found 'int'\n | number && true\n | ^"},
      {"true ? 1 : 'x'",
       "ERROR: <input>:1:6: found no matching overload for '_?_:_' applied to '(bool, int, "
       "string)'\n | true ? 1 : 'x'\n | .....^"},
      {"int{a: 1}", "ERROR: <input>:1:4: 'int' is not a message type\n | int{a: 1}\n | ...^"},
      {"Nope{a: 1}",
       "ERROR: <input>:1:5: undeclared reference to 'Nope' (in container '')\n | Nope{a: 1}\n"
       " | ....^"},
      {"1 < 2 < 3",
       "ERROR: <input>:1:7: found no matching overload for '_<_' applied to '(bool, int)'\n"
       " | 1 < 2 < 3\n | ......^"},
      {"text.matches('a(')",
       "ERROR: <input>:1:14: invalid matches argument\n | text.matches('a(')\n | .............^"},
  };
  Expect(rows);
}

TEST(IssuesTest, ResultTypes) {
  testing::Fixture fixture;
  const Row rows[] = {
      {"x", "dyn"},
      {"x == 1", "bool"},
      {"'a' + x", "string"},
      {"x + y", "dyn"},
      {"[1, 2]", "list(int)"},
      {"[]", "list(dyn)"},
      {"{'a': 1}", "map(string, int)"},
      {"names.map(n, n.size())", "list(int)"},
      {"optional.of(1)", "optional_type(int)"},
      {"type(1)", "type(int)"},
      {"x.?a", "optional_type(dyn)"},
      {"timestamp('2023-01-01T00:00:00Z')", "google.protobuf.Timestamp"},
      {"null", "null_type"},
      {"lists.range(2).sortBy(i, -i)", "list(int)"},
      {"{'a': 1}.transformMap(k, v, string(v))", "map(string, string)"},
  };
  for (const Row& row : rows) {
    const Compilation compilation = fixture.environment().Check(row.expression);
    ASSERT_TRUE(compilation.issues.empty()) << compilation.issues.ToString();
    EXPECT_EQ(TypeString(compilation.ast->type()), row.expected) << row.expression;
  }
}

TEST(IssuesTest, LimitsNestingAndSize) {
  testing::Fixture fixture;
  const auto check = [&](const std::string& text) {
    return fixture.environment().Check(text).issues.ToString();
  };
  const auto repeat = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string deep = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
  EXPECT_EQ(check(repeat("(", 10000) + "1" + repeat(")", 10000)), deep);
  EXPECT_EQ(check(repeat("[", 10000)), deep);
  EXPECT_EQ(check(repeat("{1:", 10000)), deep);
  EXPECT_EQ(check(repeat("size(", 10000)), deep);
  EXPECT_EQ(check(repeat("true ? 1 : ", 5000) + "2"), deep);
  EXPECT_EQ(check(repeat("1 + (", 125) + "1" + repeat(")", 125)), deep);
  EXPECT_EQ(check(repeat("1 + (", 124) + "1" + repeat(")", 124)), "");
  // Long chains are not nested, but their trees are high.
  const std::string high = "ERROR: <input>:-1:0: max recursion depth exceeded";
  EXPECT_EQ(check("1" + repeat(" + 1", 10000)), high);
  EXPECT_EQ(check("1" + repeat(" + 1", 251)), high);
  EXPECT_EQ(check("1" + repeat(" + 1", 250)), "");
  EXPECT_EQ(check("x" + repeat(".a", 10000)), high);
  EXPECT_EQ(check("x" + repeat(".a", 250)), "");
  EXPECT_EQ(check("x" + repeat(".map(a, a)", 300)), high);
  EXPECT_EQ(check("true" + repeat(" && true", 10000)), "");
  EXPECT_EQ(check(repeat("!", 50000) + "true"), "");
  EXPECT_EQ(check(repeat("-", 50001) + "1"), "");
  EXPECT_EQ(check(std::string(200000, 'a')),
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 200000, limit "
            "100000");
  EXPECT_NE(check(repeat("?", 5000)), "");
  EXPECT_NE(check(repeat("'", 5001)), "");
  EXPECT_NE(check(repeat("\xff", 5000)), "");
}

// Of values of any type everything may be asked, but no macro goes through them.
TEST(Issues, AnyIsDynamicButNoRange) {
  EnvironmentBuilder builder;
  builder.AddVariable("claims", "map(string, any)");
  const auto environment = builder.Build();
  ASSERT_TRUE(environment.ok());
  for (const char* text :
       {"claims.a.b == 1", "claims.a + 1 > 2 ? claims.b : 'x'",
        "'x' in claims.a && size(claims.a) > 0", "dyn(claims.a).all(x, x > 1)"}) {
    EXPECT_EQ((*environment)->Check(text).issues.ToString(), "") << text;
  }
  EXPECT_EQ((*environment)->Check("claims.a.all(x, true)").issues.ToString(),
            "ERROR: <input>:1:7: expression of type 'any' cannot be range of a comprehension (must "
            "be list, map, or dynamic)\n | claims.a.all(x, true)\n | ......^");
}

}  // namespace
}  // namespace portcullis::cel
