// SPDX-License-Identifier: Apache-2.0

// Programs and the reference interpreter agree on value, error text and cost of random expressions.
#include <gtest/gtest.h>

#include <random>

#include "cel/testing/fixture.h"
#include "cel/testing/generator.h"
#include "cel/testing/reference.h"

namespace portcullis::cel {
namespace {

std::string Show(const Outcome& outcome) {
  const Value value = outcome.value;
  return (value.is_error() ? "error: " + std::string(value.error()->text) : DebugString(value)) +
         " at " + std::to_string(outcome.cost);
}

TEST(DifferentialTest, ProgramsAgreeWithTheReference) {
  std::mt19937 random(20260721);
  for (const bool fold : {true, false}) {
    testing::Fixture fixture(fold);
    int evaluated = 0;
    for (int i = 0; i < 6000; ++i) {
      std::vector<std::uint8_t> bytes(8 + random() % 60);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      const std::string text = testing::GenerateExpression(bytes);
      const Compilation compilation = fixture.environment().Compile(text);
      if (!compilation.ok()) continue;
      ++evaluated;
      json::Arena arena;
      const Activation activation = fixture.Bindings();
      const Outcome outcome = compilation.program->Evaluate(activation, arena);
      const Outcome expected =
          testing::Interpret(fixture.environment(), *compilation.ast, activation, arena);
      ASSERT_EQ(Show(outcome), Show(expected)) << text;
    }
    EXPECT_GT(evaluated, 1500);
  }
}

}  // namespace
}  // namespace portcullis::cel
