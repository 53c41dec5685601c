// SPDX-License-Identifier: Apache-2.0

// Evaluations on fibers: what is short ends there, what takes long moves them; nothing else depends on
// it.
#include "kube_cel/evaluation.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/fiber.h"
#include "base/strings.h"
#include "json/reader.h"
#include "kube_cel/access.h"

namespace portcullis::kube_cel {
namespace {

class AlwaysAllowed final : public AccessChecker {
 public:
  const AccessAnswer& Check(const AccessQuestion&) override { return answer_; }

 private:
  AccessAnswer answer_{.allowed = true};
};

// The sum of the sizes of every two items.
constexpr std::string_view kPairs =
    "object.items.all(a, object.items.all(b, size(a) + size(b) >= 0))";

class EvaluationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
    user_.name = "alice";
    inputs_.Set(Input::kAuthorizer, MakeAuthorizer(arena_, checker_, user_));
    SetItems(3);
  }

  // `object` has so many items from now on.
  void SetItems(int count) {
    std::string text = R"({"items":[)";
    for (int i = 0; i < count; ++i) text += i == 0 ? R"("item")" : R"(,"item")";
    text += "]}";
    inputs_.Set(Input::kObject, cel::MakeFromJson(arena_, json::Parse(arena_, text).value()));
  }

  std::shared_ptr<const Expression> Compile(std::string_view text) {
    auto expression = compiler_.Compile(scope_, text, Expected::kAnything);
    EXPECT_TRUE(expression->ok()) << expression->error();
    return expression;
  }
  void AddVariable(const std::string& name, std::string_view text) {
    scope_.variables = true;
    variables_.push_back({name, Compile(text)});
    scope_.variable_types.Add({name, variables_.back().expression->VariableTypeText()});
  }

  // What each of them comes to in one group: "true, error: no such key: x, cost 12".
  std::string Evaluate(const std::vector<std::shared_ptr<const Expression>>& expressions) {
    Evaluation evaluation(arena_, inputs_, variables_);
    Budget budget(kPolicyBudget);
    std::string out;
    for (const auto& expression : expressions) {
      const Evaluated result = evaluation.Evaluate(*expression, budget);
      out += result.error.empty() ? cel::DebugString(result.value)
                                  : base::StrCat("error: ", result.error);
      out += ", ";
    }
    return base::StrCat(out, "cost ", std::to_string(kPolicyBudget - budget.left()));
  }

  // The same on a fiber, with "moved: " in front if it has moved.
  std::string EvaluateOnFiber(const std::vector<std::shared_ptr<const Expression>>& expressions) {
    base::FiberStacks stacks;
    std::function<void()> go_on;
    std::string out;
    base::Fiber::Run(stacks, [&] {
      base::Fiber::Current()->set_elsewhere(
          [&](std::function<void()> run) { go_on = std::move(run); });
      out = Evaluate(expressions);
    });
    if (!go_on) return out;
    go_on();
    return base::StrCat("moved: ", out);
  }

  json::Arena arena_;
  api::UserInfo user_;
  AlwaysAllowed checker_;
  Inputs inputs_;
  Scope scope_{.authorizer = true};
  Compiler compiler_;
  std::vector<NamedExpression> variables_;
};

TEST_F(EvaluationTest, MovesItsFiberIfItTakesLong) {
  SetItems(150);
  const struct {
    std::string_view text;
    bool is_long;
  } rows[] = {
      {"object.items.size() == 150", false},
      {"object.items.all(i, i == 'item')", false},
      {"object.none == 1", false},
      {kPairs, true},
      {"object.items.exists(a, object.items.exists(b, a != b))", true},
      // Costs more than an expression may.
      {"object.items.all(a, object.items.all(b, object.items.all(c, true)))", true},
      {"authorizer.path('/healthz').check('get').allowed()", true},
      // Cost little, and may work with much.
      {"lists.range(200).isSorted()", false},
      {"lists.range(201).isSorted()", true},
      {"object.items.map(i, 'twenty four byte of text').join('').size() == 3600", false},
      {"object.items.map(i, 'thirty bytes of text are these').join('').contains('x')", true},
  };
  for (const auto& row : rows) {
    const auto expression = Compile(row.text);
    EXPECT_EQ(EvaluateOnFiber({expression}),
              base::StrCat(row.is_long ? "moved: " : "", Evaluate({expression})))
        << row.text;
  }
}

TEST_F(EvaluationTest, MovesItsFiberIfTheGroupTakesLong) {
  const auto one = Compile("object.items.all(a, a.startsWith('i'))");
  SetItems(400);
  EXPECT_EQ(EvaluateOnFiber({one}), Evaluate({one}));
  const std::vector<std::shared_ptr<const Expression>> many(10, one);
  EXPECT_EQ(EvaluateOnFiber(many), base::StrCat("moved: ", Evaluate(many)));
  EXPECT_EQ(EvaluateOnFiber({one}), Evaluate({one})) << "it is not long by itself";
}

TEST_F(EvaluationTest, CountsVariablesOnceIfTheyTakeLong) {
  AddVariable("pairs", kPairs);
  AddVariable("again", "variables.pairs && variables.pairs");
  const auto both = Compile("variables.again && variables.pairs");
  SetItems(100);
  const std::string expected = Evaluate({both, both});
  EXPECT_EQ(EvaluateOnFiber({both, both}), base::StrCat("moved: ", expected));
}

TEST_F(EvaluationTest, ExpectsForAWhileWhatHasTakenLongToTakeLongAgain) {
  const auto pairs = Compile(kPairs);
  const auto moves = [&] { return EvaluateOnFiber({pairs}).starts_with("moved"); };
  EXPECT_FALSE(moves());
  SetItems(100);
  EXPECT_TRUE(moves());
  SetItems(3);
  for (int i = 0; i < Expression::kForgotten; ++i) EXPECT_TRUE(moves()) << i;
  EXPECT_FALSE(moves());
  SetItems(100);
  EXPECT_TRUE(moves());
}

}  // namespace
}  // namespace portcullis::kube_cel
