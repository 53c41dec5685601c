// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/conditions.h"

#include "api/field_error.h"
#include "base/strings.h"

namespace portcullis::policy {
namespace {

using admission::match::ConditionOutcome;
using kube_cel::NamedExpression;
using Verdict = ConditionOutcome::Verdict;

}  // namespace

void CountConditions(metrics::AdmissionMetrics* metrics, std::string_view policy,
                     admission::Operation operation, const ConditionOutcome& outcome,
                     base::Duration took) {
  if (metrics == nullptr) return;
  const std::initializer_list<std::string_view> labels = {policy, "policy", "validate",
                                                          admission::OperationText(operation)};
  for (int i = 0; i < outcome.erroring_expressions; ++i) {
    metrics->match_condition_errors.With(labels).Increment();
  }
  metrics->match_condition_duration.With(labels).Observe(
      std::chrono::duration<double>(took).count());
}

std::string CompileErrorText(const kube_cel::Expression& expression) {
  return base::StrCat("compilation error: ", expression.error());
}

std::string EvaluationErrorText(const kube_cel::Expression& expression, std::string_view error) {
  return base::StrCat("expression '", expression.text(), "' resulted in error: ", error);
}

ConditionOutcome EvaluateConditions(std::span<const NamedExpression> conditions,
                                    const kube_cel::Inputs& inputs,
                                    std::span<const NamedExpression> variables) {
  ConditionOutcome outcome;
  std::vector<std::string> errors;
  // In Kubernetes all conditions are evaluated first; only then a false one is looked for.
  std::vector<bool> is_false(conditions.size());
  std::vector<bool> has_error(conditions.size());
  json::Arena arena;
  kube_cel::Evaluation evaluation(arena, inputs, variables);
  kube_cel::Budget budget(kube_cel::kMatchConditionBudget);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const kube_cel::Expression& expression = *conditions[i].expression;
    if (!expression.ok()) {
      errors.push_back(CompileErrorText(expression));
      has_error[i] = true;
      continue;
    }
    const kube_cel::Evaluated result = evaluation.Evaluate(expression, budget);
    outcome.cost = kube_cel::kMatchConditionBudget - budget.left();
    if (result.out_of_budget) {
      outcome.verdict = Verdict::kError;
      outcome.error = kube_cel::kOutOfBudget;
      return outcome;
    }
    if (!result.error.empty()) {
      errors.push_back(EvaluationErrorText(expression, result.error));
      has_error[i] = true;
    } else if (result.value.is_false()) {
      is_false[i] = true;
    }
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (has_error[i]) ++outcome.erroring_expressions;
    if (!is_false[i]) continue;
    outcome.verdict = Verdict::kNoMatch;
    outcome.failed_condition = conditions[i].name;
    return outcome;
  }
  if (!errors.empty()) {
    outcome.verdict = Verdict::kError;
    outcome.error = api::AggregateText(errors);
  }
  return outcome;
}

}  // namespace portcullis::policy
