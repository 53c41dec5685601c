// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/evaluation.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/fiber.h"
#include "base/strings.h"

namespace portcullis::kube_cel {

using cel::Value;

namespace {

// Variables that read variables take stack; threads have 8 MiB of it. Enough for hundreds of them.
constexpr std::uintptr_t kMaxStack = 2 << 20;
// Each variable on the way of an error adds its name to the text, until that is so long.
constexpr std::size_t kLongError = 4 << 10;
// So many variables are found fastest by looking at each.
constexpr std::size_t kFew = 16;

std::uintptr_t StackPointer() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

// The value of `variables`: a struct whose fields are evaluated when they are read.
class Evaluation::Variables final : public cel::Object {
 public:
  Variables(Evaluation& evaluation, std::span<const NamedExpression> expressions)
      : evaluation_(evaluation), expressions_(expressions), values_(expressions.size()) {}
  ~Variables() = default;

  const cel::Type* type() const override { return &kType; }
  bool is_struct() const override { return true; }
  Value Equals(json::Arena&, Value other) const override {
    if (!other.is_object() || other.object()->type() != &kType) return cel::NoSuchOverload();
    return Value::Bool(other.object() == this);
  }
  bool HasField(std::string_view name) const override { return Find(name).has_value(); }

  Value Field(json::Arena& arena, std::string_view name) const override {
    const auto index = Find(name);
    if (!index) return {};
    Value& value = values_[*index];
    if (!value.is_unset()) return value;
    const Expression& expression = *expressions_[*index].expression;
    if (!expression.ok()) {
      return value = Failure(arena, name, "compile", expression.error());
    }
    if (depth_ == 0) stack_ = StackPointer();
    if (stack_ - StackPointer() > kMaxStack) {
      return value = Failure(arena, name, "evaluate", "variables are nested too deeply");
    }
    std::uint64_t cost = 0;
    ++depth_;
    value = evaluation_.Run(expression, cost);
    --depth_;
    cost_ += cost;
    if (value.is_error() && value.error()->text.size() < kLongError) {
      value = Failure(arena, name, "evaluate", value.error()->text);
    }
    return value;
  }

  // The cost of what was evaluated since the last call.
  std::uint64_t TakeCost() { return std::exchange(cost_, 0); }

 private:
  static constexpr cel::Type kType{cel::TypeKind::kStruct, "kubernetes.variables", {}};

  // Of several with the same name the last one counts.
  std::optional<std::size_t> Find(std::string_view name) const {
    const auto name_of = [this](std::size_t i) -> std::string_view { return expressions_[i].name; };
    if (expressions_.size() <= kFew) {
      for (std::size_t i = expressions_.size(); i > 0; --i) {
        if (name_of(i - 1) == name) return i - 1;
      }
      return std::nullopt;
    }
    if (order_.empty()) {
      order_.resize(expressions_.size());
      std::iota(order_.begin(), order_.end(), 0U);
      std::stable_sort(order_.begin(), order_.end(),
                       [&](std::size_t a, std::size_t b) { return name_of(a) < name_of(b); });
    }
    const auto behind = std::upper_bound(
        order_.begin(), order_.end(), name,
        [&](std::string_view wanted, std::size_t i) { return wanted < name_of(i); });
    if (behind == order_.begin() || name_of(*(behind - 1)) != name) return std::nullopt;
    return *(behind - 1);
  }

  static Value Failure(json::Arena& arena, std::string_view name, std::string_view verb,
                       std::string_view why) {
    return cel::MakeError(
        arena, base::StrCat("composited variable \"", name, "\" fails to ", verb, ": ", why));
  }

  Evaluation& evaluation_;
  std::span<const NamedExpression> expressions_;
  mutable std::vector<Value> values_;
  mutable std::vector<std::uint32_t> order_;  // of the expressions by name; made when needed
  mutable int depth_ = 0;                     // variables being evaluated
  mutable std::uintptr_t stack_ = 0;          // where the outermost of them began
  mutable std::uint64_t cost_ = 0;
};

Evaluation::Evaluation(json::Arena& arena, const Inputs& inputs,
                       std::span<const NamedExpression> variables)
    : arena_(arena), inputs_(inputs) {
  if (variables.empty()) return;
  variables_ = std::make_unique<Variables>(*this, variables);
  inputs_.Set(Input::kVariables, Value::FromObject(variables_.get()));
}

Evaluation::~Evaluation() = default;

cel::Outcome Evaluation::Compute(const Expression& expression, const cel::Activation& activation) {
  const cel::Program& program = expression.program();
  if (!base::Fiber::MayHoldThread()) {
    if (cost_on_fiber_ <= kShort && !expression.IsExpectedLong()) {
      const cel::EvalOptions options{.cost_limit = kShort, .only_small_calls = true};
      const cel::Outcome outcome = program.Evaluate(activation, arena_, options);
      cost_on_fiber_ += outcome.cost;
      if (outcome.cost <= kShort) return outcome;
      expression.NoteLong();
    }
    base::Fiber::MoveCurrent();
  }
  return program.Evaluate(activation, arena_, {.cost_limit = kCallLimit});
}

Value Evaluation::Run(const Expression& expression, std::uint64_t& cost) {
  const ScopeEnvironment& scope = expression.scope();
  cel::Activation activation(*scope.environment);
  for (std::size_t i = 0; i < kInputs; ++i) {
    if (scope.indices[i] >= 0) activation.Set(scope.indices[i], inputs_.values[i]);
  }
  const cel::Outcome outcome = Compute(expression, activation);
  cost = outcome.cost;
  if (inputs_.watch != nullptr) {
    inputs_.watch->Evaluated(inputs_.owner, expression, outcome.value, activation, arena_);
  }
  return outcome.value;
}

std::uint64_t Evaluation::TakeVariablesCost() { return variables_ ? variables_->TakeCost() : 0; }

Evaluated Evaluation::Evaluate(const Expression& expression, Budget& budget) {
  Evaluated result;
  std::uint64_t cost = 0;
  result.value = Run(expression, cost);
  const std::uint64_t variables = TakeVariablesCost();
  if (!budget.Take(variables) || !budget.Take(cost)) {
    result.out_of_budget = true;
    return result;
  }
  if (result.value.is_error()) result.error = result.value.error()->text;
  return result;
}

}  // namespace portcullis::kube_cel
