// SPDX-License-Identifier: Apache-2.0

// Rules of custom resources on typed values: what holds, what fails and with which text, what it
// costs and what it is estimated to cost: tests/conformance/cel/schema-rules.jsonl.
#include <gtest/gtest.h>

#include <fstream>

#include "json/reader.h"
#include "json/writer.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/schema_rules.h"

namespace portcullis::kube_cel {
namespace {

class SchemaFactsTest : public testing::Test {
 protected:
  void Check(json::Value fact, json::Value rule) {
    const json::Value schema = fact["schema"];
    const std::string_view text = rule["rule"].AsString();
    std::string_view expected = rule["error"].AsString();
    // What is said around the text of the language.
    if (expected.starts_with("compile error: ")) expected.remove_prefix(15);
    expected = expected.substr(0, expected.find(" evaluating rule: "));
    const bool resource = rule["resource"].AsBool(fact["resource"].AsBool());
    const auto scope = MakeRuleEnvironment(schema, resource, /*optional_old_self=*/false);
    const auto expression = Compiler::CompileIn(scope, text, Expected::kBool);
    if (!expression->ok()) {
      EXPECT_FALSE(expected.empty()) << text << "\n" << expression->error();
      EXPECT_NE(expression->error().find(expected), std::string::npos)
          << text << "\n"
          << expression->error() << "\nexpected " << expected;
      return;
    }
    if (const json::Value estimate = rule["estimate"]; !estimate.is_null()) {
      EXPECT_EQ(std::to_string(EstimateRuleCost(*scope, schema, resource, text)),
                json::ToString(estimate))
          << text;
    }
    if (!fact.Has("object")) return;
    json::Arena arena;
    Inputs inputs;
    inputs.Set(Input::kObject, RuleValue(arena, schema, resource, fact["object"]));
    if (fact.Has("old"))
      inputs.Set(Input::kOldObject, RuleValue(arena, schema, resource, fact["old"]));
    Evaluation evaluation(arena, inputs);
    Budget budget(kPolicyBudget);
    const Evaluated result = evaluation.Evaluate(*expression, budget);
    if (!expected.empty()) {
      const std::string error = result.ok() ? "failed rule: " + std::string(text) : result.error;
      EXPECT_FALSE(result.ok() && result.value.is_true()) << text;
      EXPECT_NE(error.find(expected), std::string::npos) << text << "\n"
                                                         << error << "\nexpected " << expected;
      return;
    }
    if (rule["skipped"].AsBool()) return;
    EXPECT_TRUE(result.ok() && result.value.is_true()) << text << "\n" << result.error;
    if (const json::Value cost = rule["cost"]; !cost.is_null()) {
      EXPECT_EQ(static_cast<std::int64_t>(kPolicyBudget - budget.left()), cost.AsInt()) << text;
    }
  }
};

TEST_F(SchemaFactsTest, RulesAreThoseOfKubernetes) {
  std::ifstream file(PC_SOURCE_DIR "/tests/conformance/cel/schema-rules.jsonl");
  ASSERT_TRUE(file.is_open());
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    json::Arena arena;
    const auto fact = json::Parse(arena, line);
    ASSERT_TRUE(fact.ok()) << line;
    SCOPED_TRACE((*fact)["name"].AsString());
    for (const json::Value& rule : (*fact)["rules"].elements()) Check(*fact, rule), ++count;
  }
  EXPECT_GT(count, 1000U);
}

}  // namespace
}  // namespace portcullis::kube_cel
