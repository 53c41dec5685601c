// SPDX-License-Identifier: Apache-2.0

#include "admission/match/cel_conditions.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "admission/match/request_inputs.h"
#include "api/field_error.h"
#include "base/strings.h"

namespace portcullis::admission::match {
namespace {

using kube_cel::Input;

const kube_cel::Scope& ScopeOfConditions() {
  static const kube_cel::Scope kScope = {.authorizer = true};
  return kScope;
}

class Program final : public ConditionProgram {
 public:
  Program(std::vector<MatchCondition> conditions, kube_cel::Compiler& compiler,
          const authz::Authorizer* authorizer)
      : conditions_(std::move(conditions)), compiler_(compiler), authorizer_(authorizer) {}

  ConditionOutcome Evaluate(const ConditionInput& input) const override {
    std::call_once(compiled_, [this] { Compile(); });
    const Request& request = *input.request;
    json::Arena& arena = request.arena();
    AuthorizerChecker checker(authorizer_);
    kube_cel::Inputs inputs;
    inputs.Set(Input::kObject, cel::MakeFromJson(arena, input.object));
    inputs.Set(Input::kOldObject, cel::MakeFromJson(arena, input.old_object));
    if (Mention(Input::kRequest)) {
      inputs.Set(Input::kRequest,
                 cel::MakeFromJson(arena, RequestAsJson(arena, request, request.resource(),
                                                        input.kind, request.name())));
    }
    // Webhooks have never been given the namespace.
    inputs.Set(Input::kNamespaceObject, cel::Value::Null());
    if (Mention(Input::kAuthorizer)) {
      inputs.Set(Input::kAuthorizer, kube_cel::MakeAuthorizer(arena, checker, request.user()));
    }
    if (Mention(Input::kRequestResource)) {
      inputs.Set(Input::kRequestResource,
                 kube_cel::MakeResourceCheck(arena, checker, RequestResourceQuestion(request)));
    }
    return Run(inputs);
  }

 private:
  bool Mention(Input input) const {
    return std::any_of(expressions_.begin(), expressions_.end(),
                       [input](const auto& expression) { return Mentions(*expression, input); });
  }

  struct Result {
    bool is_true = false;
    std::string error;
  };

  void Compile() const {
    std::vector<std::shared_ptr<const kube_cel::Expression>> compiled;  // all, or none is kept
    for (const MatchCondition& condition : conditions_) {
      compiled.push_back(
          compiler_.Compile(ScopeOfConditions(), condition.expression, kube_cel::Expected::kBool));
    }
    expressions_ = std::move(compiled);
  }

  // All conditions are evaluated before the results are looked at: what one costs, the others lack.
  ConditionOutcome Run(const kube_cel::Inputs& inputs) const {
    json::Arena arena;  // not the request's: what it takes is given back at once
    kube_cel::Evaluation evaluation(arena, inputs);
    kube_cel::Budget budget(kube_cel::kMatchConditionBudget);
    std::vector<Result> results;
    for (const auto& expression : expressions_) {
      Result& result = results.emplace_back();
      if (!expression->ok()) {
        result.error = base::StrCat("compilation error: ", expression->error());
        continue;
      }
      const kube_cel::Evaluated evaluated = evaluation.Evaluate(*expression, budget);
      if (evaluated.out_of_budget) {
        ConditionOutcome outcome;
        outcome.verdict = ConditionOutcome::Verdict::kError;
        outcome.error = kube_cel::kOutOfBudget;
        outcome.cost = kube_cel::kMatchConditionBudget - budget.left();
        return outcome;
      }
      if (!evaluated.ok()) {
        result.error = base::StrCat("expression '", expression->text(),
                                    "' resulted in error: ", evaluated.error);
        continue;
      }
      result.is_true = evaluated.value.is_true();
    }
    ConditionOutcome outcome = Judge(results);
    outcome.cost = kube_cel::kMatchConditionBudget - budget.left();
    return outcome;
  }

  ConditionOutcome Judge(const std::vector<Result>& results) const {
    ConditionOutcome outcome;
    std::vector<std::string> errors;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].error.empty()) {
        ++outcome.erroring_expressions;
        errors.push_back(results[i].error);
        continue;
      }
      if (results[i].is_true) continue;
      outcome.verdict = ConditionOutcome::Verdict::kNoMatch;
      outcome.failed_condition = conditions_[i].name;
      return outcome;
    }
    if (errors.empty()) return outcome;
    outcome.verdict = ConditionOutcome::Verdict::kError;
    outcome.error = api::AggregateText(errors);
    return outcome;
  }

  const std::vector<MatchCondition> conditions_;
  kube_cel::Compiler& compiler_;
  const authz::Authorizer* const authorizer_;
  mutable std::once_flag compiled_;
  mutable std::vector<std::shared_ptr<const kube_cel::Expression>> expressions_;
};

class CelConditions final : public ConditionEvaluator {
 public:
  CelConditions(kube_cel::Compiler& compiler, const authz::Authorizer* authorizer)
      : compiler_(compiler), authorizer_(authorizer) {}
  std::shared_ptr<const ConditionProgram> Compile(
      std::vector<MatchCondition> conditions) const override {
    return std::make_shared<Program>(std::move(conditions), compiler_, authorizer_);
  }

 private:
  kube_cel::Compiler& compiler_;
  const authz::Authorizer* const authorizer_;
};

class CelExpressionChecker final : public registry::ExpressionChecker {
 public:
  CelExpressionChecker(kube_cel::Compiler& compiler, const metrics::CelMetrics* metrics)
      : compiler_(compiler), metrics_(metrics) {}
  std::string CheckMatchCondition(std::string_view expression,
                                  Environment environment) const override {
    kube_cel::Scope scope = ScopeOfConditions();
    scope.is_new = environment == Environment::kNew;
    return compiler_.Compile(scope, expression, kube_cel::Expected::kBool)->error();
  }
  kube_cel::Compiler* compiler() const override { return &compiler_; }
  const metrics::CelMetrics* cel_metrics() const override { return metrics_; }

 private:
  kube_cel::Compiler& compiler_;
  const metrics::CelMetrics* const metrics_;
};

}  // namespace

std::unique_ptr<ConditionEvaluator> MakeCelConditions(kube_cel::Compiler& compiler,
                                                      const authz::Authorizer* authorizer) {
  return std::make_unique<CelConditions>(compiler, authorizer);
}

std::unique_ptr<registry::ExpressionChecker> MakeCelExpressionChecker(
    kube_cel::Compiler& compiler, const metrics::CelMetrics* metrics) {
  return std::make_unique<CelExpressionChecker>(compiler, metrics);
}

}  // namespace portcullis::admission::match
