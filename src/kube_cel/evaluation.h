// SPDX-License-Identifier: Apache-2.0

// Evaluating compiled expressions on one request, with Kubernetes' budgets.
//
//   Evaluation evaluation(arena, inputs, variables);
//   Budget budget(kValidationBudget);
//   Evaluated result = evaluation.Evaluate(*expression, budget);
//
// An Evaluation is one group of expressions that share the values of a policy's variables; each
// variable is evaluated when it is first read. Confined to one thread, or to one fiber (base/fiber.h).
// On a fiber an expression has the limit kShort first. If it, or its group, costs more, the fiber moves
// and the expression is evaluated again with its ordinary limit: results and costs are the same.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/value.h"
#include "kube_cel/compiler.h"

namespace portcullis::kube_cel {

// What one evaluation of one expression may cost.
inline constexpr std::uint64_t kCallLimit = 1'000'000;
inline constexpr std::uint64_t kPolicyBudget = 10'000'000;
inline constexpr std::uint64_t kMatchConditionBudget = 2'500'000;
// What costs more is not evaluated on a fiber, where it would hold up others: 0.1 to 0.2 ms.
inline constexpr std::uint64_t kShort = 10'000;

inline constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

// What a group of expressions may still cost.
class Budget {
 public:
  explicit Budget(std::uint64_t cost) : left_(cost) {}
  // False, with nothing taken, if there is not that much left.
  bool Take(std::uint64_t cost) {
    if (cost > left_) return false;
    left_ -= cost;
    return true;
  }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

// Whose expressions are evaluated.
struct Owner {
  std::string_view kind;  // "ValidatingAdmissionPolicy"
  std::string_view name;
};

// Sees what each expression comes to: what coverage and explanations are made of. Called by the thread
// that evaluates.
class Watch {
 public:
  virtual ~Watch() = default;
  // `activation` and `arena` are those of the evaluation, for who evaluates once more.
  virtual void Evaluated(const Owner& owner, const Expression& expression, cel::Value value,
                         const cel::Activation& activation, json::Arena& arena) = 0;
};

// Values of the variables; unset ones are unbound.
struct Inputs {
  std::array<cel::Value, kInputs> values;
  Watch* watch = nullptr;  // null: nothing is seen. Outlives the evaluation.
  Owner owner;             // for the watch
  void Set(Input input, cel::Value value) { values[static_cast<std::size_t>(input)] = value; }
  cel::Value Get(Input input) const { return values[static_cast<std::size_t>(input)]; }
};

struct NamedExpression {
  std::string name;
  std::shared_ptr<const Expression> expression;
};

struct Evaluated {
  cel::Value value;   // an error value if the evaluation failed
  std::string error;  // why, without decoration; "" if it did not
  bool out_of_budget = false;
  bool ok() const { return error.empty() && !out_of_budget; }
};

class Evaluation {
 public:
  // All of them outlive the evaluation and its results.
  Evaluation(json::Arena& arena, const Inputs& inputs,
             std::span<const NamedExpression> variables = {});
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  // REQUIRES: expression.ok().
  Evaluated Evaluate(const Expression& expression, Budget& budget);

  // For who evaluates programs of his own: the value of `variables` (unset without any), and what
  // reading them has cost since the last call.
  cel::Value variables() const { return inputs_.Get(Input::kVariables); }
  std::uint64_t TakeVariablesCost();

 private:
  class Variables;
  cel::Value Run(const Expression& expression, std::uint64_t& cost);
  cel::Outcome Compute(const Expression& expression, const cel::Activation& activation);

  json::Arena& arena_;
  Inputs inputs_;
  std::unique_ptr<Variables> variables_;
  std::uint64_t cost_on_fiber_ = 0;  // of the group so far, until it has moved
};

}  // namespace portcullis::kube_cel
