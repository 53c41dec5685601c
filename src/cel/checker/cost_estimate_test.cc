// SPDX-License-Identifier: Apache-2.0

// Estimates: expression, variables with their types, known sizes, bounds.
#include "cel/checker/cost_estimate.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cel/environment.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel {
namespace {

struct CostRow {
  const char* expression;
  const char* variables;  // name:type;…
  const char* sizes;      // path=most;…
  Range cost;
};

class Sizes final : public SizeEstimator {
 public:
  explicit Sizes(std::string_view sizes) : sizes_(base::Split(sizes, ';')) {}
  std::optional<Range> Size(std::span<const std::string_view> path, const Type&) const override {
    const std::string name = base::Join(path, ".");
    for (const std::string_view entry : sizes_) {
      const auto cut = base::Cut(entry, "=");
      if (!cut || cut->first != name) continue;
      return Range{0, static_cast<std::uint64_t>(*base::ParseInt(cut->second))};
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string_view> sizes_;
};

TEST(CostEstimateTest, FollowsTheModel) {
  const CostRow rows[] = {
      {R"(input)", "input:list(int)", "", {1, 1}},
      {R"(input['key'])", "input:map(string, string)", "", {2, 2}},
      {R"(has(input.testAttr.nestedAttr))", "input:map(string, map(string, string))", "", {2, 2}},
      {R"(input.getFullYear())", "input:timestamp", "", {2, 2}},
      {R"([1, 2, 3])", "", "", {10, 10}},
      {R"({'a': 1, 'b': 2, 'c': 3})", "", "", {30, 30}},
      {R"(input.all(x, true))", "input:list(int)", "input=100", {2, 302}},
      {R"(input.all(x, x.all(y, true)))",
       "input:list(list(int))",
       "input=50;input.@items=10",
       {2, 1752}},
      {R"([1, 2, 3].all(x, true))", "", "", {20, 20}},
      {R"(input.matches('[0-9]'))", "input:string", "input=500", {3, 103}},
      {R"('123'.matches('[0-9]'))", "", "", {2, 2}},
      {R"(matches(input, '[0-9]'))", "input:string", "", {2, 2}},
      {R"(a || b || c || d)", "a:bool;b:bool;c:bool;d:bool", "", {1, 4}},
      {R"(a && b && c && d)", "a:bool;b:bool;c:bool;d:bool", "", {1, 4}},
      {R"(2 in [1, 2, 3])", "", "", {13, 13}},
      {R"(true ? 1 : 2)", "", "", {0, 0}},
      {R"(string(input))", "input:bytes", "input=500", {1, 51}},
      {R"(string(input) == string(input))", "input:bytes", "input=500", {3, 152}},
      {R"(bytes(input))", "input:string", "input=500", {1, 51}},
      {R"(bytes(input) == bytes(input))", "input:string", "input=500", {3, 302}},
      {R"(input.contains(arg1))", "input:string;arg1:string", "input=500;arg1=500", {2, 2502}},
      {R"(input.startsWith(arg1))", "input:string;arg1:string", "arg1=500", {2, 52}},
      {R"(size(input))", "input:string", "", {2, 2}},
      {R"((x > 2 ? input1 : input2).all(y, true))",
       "x:int;input1:list(int);input2:list(int)",
       "input1=1;input2=1",
       {4, 7}},
      {R"(input.all(k, input[k].all(x, true)))",
       "input:map(string, map(string, string))",
       "input=5;input.@values=10",
       {2, 187}},
      {R"(input.all(k, k.contains(k)))",
       "input:map(string, map(string, string))",
       "input=5;input.@keys=10",
       {2, 32}},
      {R"(input.all(k, input[k].all(k, true) && k.contains(k)))",
       "input:map(string, map(string, string))",
       "input=2;input.@values=2;input.@keys=5",
       {2, 34}},
      {R"((list1 + list2).all(x, true))",
       "list1:list(int);list2:list(int)",
       "list1=10;list2=10",
       {4, 64}},
      {R"('abcdefg'.contains(str1 + str2))", "str1:string;str2:string", "str1=10;str2=10", {2, 6}},
      {R"(list1.size() == list2.size())", "list1:list(int);list2:list(int)", "", {5, 5}},
      {R"(x > y ? list1.size() : list2.size())",
       "x:int;y:int;list1:list(int);list2:list(int)",
       "",
       {5, 5}},
      {R"(([x, y] + list1 + list2).size())",
       "x:int;y:int;list1:list(int);list2:list(int)",
       "list1=10;list2=20",
       {17, 17}},
      {R"([list1, list2].exists(l, l.exists(v, v.startsWith('hi'))))",
       "list1:list(string);list2:list(string)",
       "list1=10;list1.@items=64;list2=20;list2.@items=128",
       {21, 265}},
      {R"(str1.endsWith('abcdefghijklmnopqrstuvwxyz') == str2.endsWith('abcdefghijklmnopqrstuvwxyz'))",
       "str1:string;str2:string",
       "",
       {9, 9}},
      {R"(((5 != 6) == (1 == 2)) == ((3 <= 4) == (9 != 9)))", "", "", {7, 7}},
      {R"(string(t1) == string(t2))", "t1:timestamp;t2:timestamp", "", {5, 1844674407370955268U}},
      {R"(t1 == t2)", "t1:timestamp;t2:timestamp", "", {3, 3}},
      {R"([1,2,3,4,5].filter(x, x % 2 == 0))", "", "", {41, 101}},
      {R"([1,2,3,4,5].map(x, x))", "", "", {86, 86}},
      {R"([1,2,3,4,5].map(x, x).filter(x, x % 2 == 0))", "", "", {117, 177}},
      {R"([1,2,3,4,5].map(x, x).exists(x, x == 5) == true)", "", "", {108, 118}},
      {R"([1,2,3,4,5].map(x, x).map(x, x))", "", "", {162, 162}},
      {R"([1,2,3,4,5].map(x, x)[4])", "", "", {87, 87}},
      {R"([[1,2],[1,2],[1,2],[1,2],[1,2]][4])", "", "", {61, 61}},
      {R"({'a': [1,2], 'b': [1,2], 'c': [1,2], 'd': [1,2], 'e': [1,2]}.b)", "", "", {81, 81}},
      {R"([[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]].all(y, y.all(y, y == 1)))", "", "", {76, 136}},
      {R"([1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1)))", "", "", {157, 217}},
      {R"(['a', 'ab', 'abc', 'abcd', 'abcde'].map(x, [x, x]).all(y, y.all(y, y.startsWith('a'))))",
       "",
       "",
       {157, 217}},
      {R"(input.map(x, [x, x]).all(y, y.all(y, y.startsWith('a'))))",
       "input:list(string)",
       "input=5;input.@items=10",
       {13, 208}},
      {R"([1,2,3,4,5].map(x, x).map(x, x) + [1])", "", "", {173, 173}},
      {R"([1,2,3].all(i, i in [1,2,3].map(j, j + j)))", "", "", {20, 230}},
      {R"(dyn([1,2,3]).all(i, i in dyn([1,2,3]).map(j, j + j)))", "", "", {21, 234}},
      {R"({'hello': 'hi'}['hello'] != {'hello': 'bye'}['hello'])", "", "", {63, 63}},
      {R"(['hello', 'hi'][0] != ['hello', 'bye'][1])", "", "", {23, 23}},
      {R"(type(1))", "", "", {1, 1}},
      {R"(type(v.val1))", "v:map(string, int)", "", {3, 3}},
      {R"(type(v.val1) == int)", "v:map(string, int)", "", {5, 1844674407370955268U}},
      {R"(v.val1 == 1.0)", "v.val1:double", "", {2, 2}},
      {R"(v.val1 == 1.0)", "v:map(string, double)", "", {3, 3}},
      {R"(v.val1 == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms'))",
       "v:map(string, timestamp)",
       "",
       {6, 6}}};
  for (const CostRow& row : rows) {
    EnvironmentBuilder builder;
    builder.AddLibrary(kListsLibrary);
    for (const std::string_view variable : base::Split(row.variables, ';')) {
      if (const auto cut = base::Cut(variable, ":")) builder.AddVariable(cut->first, cut->second);
    }
    const auto environment = builder.Build();
    ASSERT_TRUE(environment.ok()) << environment.status().message();
    const Compilation compilation = (*environment)->Check(row.expression);
    ASSERT_TRUE(compilation.issues.empty()) << compilation.issues.ToString();
    const Range cost = EstimateCost(**environment, *compilation.ast, Sizes(row.sizes));
    EXPECT_EQ(cost.min, row.cost.min) << row.expression;
    EXPECT_EQ(cost.max, row.cost.max) << row.expression;
  }
}

}  // namespace
}  // namespace portcullis::cel
