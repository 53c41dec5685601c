#include "cel/checker/cost_estimate.h"

#include <gtest/gtest.h>

#include "cel/syntax/ast.h"
#include "cel/testing/fixture.h"

namespace portcullis::cel {
namespace {

// `names` has at most 10 elements of at most 20 characters; `text` 100 characters.
class Sizes final : public SizeEstimator {
 public:
  std::optional<Range> Size(std::span<const std::string_view> path, const Type&) const override {
    if (path.size() == 1 && path[0] == "names") return Range{0, 10};
    if (path.size() == 2 && path[0] == "names" && path[1] == "@items") return Range{0, 20};
    if (path.size() == 1 && path[0] == "text") return Range{0, 100};
    return std::nullopt;
  }
};

TEST(CostEstimateTest, FollowsTheModel) {
  struct Row {
    const char* expression;
    Range cost;
  };
  const Row rows[] = {
      {"true", {0, 0}},
      {"number", {1, 1}},
      {"number + 1 > 2", {3, 3}},
      {"text == 'abc'", {2, 2}},
      {"text == text", {3, 12}},
      {"text + text", {2, 22}},
      {"text.startsWith('abc')", {2, 2}},
      {"text.matches('abcd')", {2, 12}},
      {"number == 1 && number == 2", {2, 4}},
      {"number == 1 ? text : 'x'", {2, 3}},
      {"names.all(n, n == 'a')", {2, 52}},
      {"names.map(n, n).size() > 0", {14, 144}},
      {"names.all(n, names.all(m, m == n))", {2, 752}},
      {"[1, 2, 3].exists(i, i > number)", {23, 32}},
      {"x.all(i, i == 1)", {2, kUnbounded}},
      {"lists.range(5)", {16, 16}},
      {"has(x.a)", {1, 1}},
  };
  testing::Fixture fixture;
  for (const Row& row : rows) {
    const Compilation compilation = fixture.environment().Check(row.expression);
    ASSERT_TRUE(compilation.issues.empty()) << compilation.issues.ToString();
    const Range cost = EstimateCost(fixture.environment(), *compilation.ast, Sizes());
    EXPECT_EQ(cost.min, row.cost.min) << row.expression;
    EXPECT_EQ(cost.max, row.cost.max) << row.expression;
  }
}

}  // namespace
}  // namespace portcullis::cel
