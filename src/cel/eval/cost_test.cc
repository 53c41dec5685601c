// SPDX-License-Identifier: Apache-2.0

// Costs: the anchors of Kubernetes' own model, to the unit.
#include <gtest/gtest.h>

#include "cel/testing/fixture.h"

namespace portcullis::cel {
namespace {

struct CostRow {
  const char* expression;
  std::uint64_t cost;
};

TEST(CostTest, CountsUnfoldedExpressions) {
  testing::Fixture fixture(/*fold=*/false);
  const CostRow rows[] = {
      {"[1, 2].all(i, v, v > 0)", 21},
      {"[1, 2].exists(i, v, v > 0)", 20},
      {"[1, 2].existsOne(i, v, v > 0)", 20},
      {"[1, 2].transformList(i, v, v + 1)", 49},
      {"{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 71},
      {"sets.contains([], [])", 21},
      {"[1, 2, 3].all(x, true)", 20},
      {"'123'.matches('[0-9]')", 2},
      {"2 in [1, 2, 3]", 13},
      {"'12345678901234567890' == '123456789012345678901234567890'", 2},
      {"(1 > 2 ? 5 : 3) > 1", 2},
      {"(1 > 2 || 2 > 1) == true", 3},
      {"string(1)", 1},
      {"[{'k1': 1}, {'k2': 2}].all(x, true)", 77},
      {"[1,2,3,4,5].filter(x, x % 2 == 0)", 62},
      {"[1,2,3,4,5].map(x, x)", 86},
      {"[1,2,3,4,5].map(x, x).filter(x, x % 2 == 0)", 138},
      {"[1,2,3,4,5].map(x, x).exists(x, x == 5) == true", 118},
      {"[1,2,3,4,5].map(x, x).map(x, x)", 162},
      {"[1,2,3,4,5].map(x, [x, x]).filter(z, z.size() == 2)", 232},
      {"[1,2,3,4,5].map(x, [x, x]).all(y, y.all(y, y == 1))", 171},
      {"[1,2,3,4,5].map(x, x).map(x, x) + [1]", 173},
      {"[1,2,3].all(i, i in [1,2,3].map(j, j + j))", 86},
      {"sets.equivalent([1, 2, 3], [3, 2, 1])", 39},
  };
  for (const CostRow& row : rows)
    EXPECT_EQ(fixture.Run(row.expression).cost, row.cost) << row.expression;
}

TEST(CostTest, CountsFoldedExpressions) {
  testing::Fixture fixture;
  const CostRow rows[] = {
      {"object.metadata.name", 3},
      {"has(object.metadata)", 1},
      {"has(object.metadata.name)", 2},
      {"true", 0},
      {"oldObject != null", 2},
      {"object.spec.containers.size() > 2", 5},
      {"x in [1, 2]", 1},
      {"object.metadata.name in names", 7},
      {"object.spec.containers[0].name", 5},
      {"names[number]", 2},
      {"names[object.spec.replicas]", 4},
      {"true ? x : y", 0},
      {"true ? object.metadata : y", 1},
      {"text + text", 4},
      {"text.contains('some')", 2},
      {"text.matches('a')", 2},
      {"[1, 2].map(i, i)", 27},
      {"object.?metadata.?name.orValue('a')", 3},
      {"object.?metadata.?nope.orValue('a')", 2},
      {"[3, 1, 2].sortBy(e, e)", 71},
  };
  for (const CostRow& row : rows)
    EXPECT_EQ(fixture.Run(row.expression).cost, row.cost) << row.expression;
}

TEST(CostTest, StopsAtTheLimit) {
  testing::Fixture fixture;
  EvalOptions options;
  options.cost_limit = 3;
  EXPECT_EQ(fixture.Run("object.metadata.name", options).text, "\"web\"");
  options.cost_limit = 2;
  const auto result = fixture.Run("object.metadata.name == 'x' || true", options);
  EXPECT_EQ(result.text, "error: operation cancelled: actual cost limit exceeded");
  EXPECT_EQ(result.cost, 3U);
  options.cost_limit = 1000;
  EXPECT_EQ(
      fixture.Run("lists.range(1000).all(i, lists.range(1000).all(j, i * j >= 0))", options).text,
      "error: operation cancelled: actual cost limit exceeded");
}

TEST(CostTest, StopsWhenInterrupted) {
  class Stop final : public Interrupt {
   public:
    bool Interrupted() override { return true; }
  };
  testing::Fixture fixture;
  Stop stop;
  EvalOptions options;
  options.interrupt = &stop;
  EXPECT_EQ(fixture.Run("lists.range(200).all(i, i >= 0)", options).text,
            "error: operation interrupted");
  EXPECT_EQ(fixture.Run("lists.range(50).all(i, i >= 0)", options).text, "true");
}

}  // namespace
}  // namespace portcullis::cel
