// SPDX-License-Identifier: Apache-2.0

// Evaluating one policy: match conditions, validations, messages, audit annotations. Each of these groups
// has an arena of its own: what its expressions come to on their way may be tens of megabytes, which
// policies times parameters would make of them if it stayed until the request ends.
#include "base/fiber.h"
#include "base/strings.h"
#include "golang/strings.h"
#include "policy/cel_policy/conditions.h"
#include "policy/cel_policy/validating.h"

namespace portcullis::policy {
namespace {

using kube_cel::Budget;
using kube_cel::Evaluated;
using kube_cel::Evaluation;
using kube_cel::Input;

constexpr std::string_view kPlugin = "ValidatingAdmissionPolicy";
constexpr std::size_t kMaxMessage = 5 * 1024;
constexpr std::size_t kMaxAuditValue = 10 * 1024;

class Evaluator {
 public:
  Evaluator(const PolicyServices& services, const Policy& policy, RequestInputs& request,
            const Matched& matched, json::Value param)
      : services_(services), policy_(policy), request_(request), matched_(matched), param_(param) {}

  Verdict Run() {
    Verdict verdict;
    if (!ConditionsMet(verdict)) return verdict;
    inputs_ = request_.For(kPlugin, policy_, matched_, true);
    inputs_.Set(Input::kParams, cel::MakeFromJson(request_.arena(), param_));
    std::string failure = Validate(verdict);
    if (failure.empty()) failure = Annotate(verdict);
    if (!failure.empty()) {
      verdict.decisions.clear();
      verdict.audit_values.clear();
      verdict.decisions.push_back(ErrorDecision(std::move(failure)));
    }
    return verdict;
  }

 private:
  Decision ErrorDecision(std::string message) const {
    Decision decision;
    decision.kind = policy_.ignore_failures ? Decision::Kind::kAdmit : Decision::Kind::kDeny;
    decision.is_error = true;
    decision.message = std::move(message);
    return decision;
  }

  bool ConditionsMet(Verdict& verdict) {
    if (policy_.conditions.empty()) return true;
    using Outcome = admission::match::ConditionOutcome::Verdict;
    // What conditions see as request.resource is the resource as it was sent.
    Matched original = matched_;
    original.resource = request_.request().resource();
    kube_cel::Inputs inputs = request_.For(kPlugin, policy_, original, false);
    inputs.Set(Input::kParams, cel::MakeFromJson(request_.arena(), param_));
    const auto start = services_.BeginStep();
    const auto outcome = EvaluateConditions(policy_.conditions, inputs, policy_.variables);
    verdict.cost += outcome.cost;
    if (outcome.verdict == Outcome::kMatch) return true;
    CountConditions(services_.condition_metrics, policy_.name, request_.request().operation(),
                    outcome, services_.clock->Steady() - start);
    verdict.applies = false;
    verdict.unmet_condition = outcome.failed_condition;
    verdict.unmet_error = outcome.error;
    if (outcome.verdict == Outcome::kError && !policy_.ignore_failures) {
      verdict.applies = true;
      verdict.decisions.push_back(ErrorDecision(outcome.error));
    }
    return false;
  }

  // The text of a failure of the whole group, or "".
  std::string Validate(Verdict& verdict) {
    json::Arena arena;
    Evaluation evaluation(arena, inputs_, policy_.variables);
    Budget budget(kube_cel::kPolicyBudget);
    bool refused = false;
    verdict.decisions.reserve(policy_.validations.size());
    for (std::size_t i = 0; i < policy_.validations.size(); ++i) {
      const kube_cel::Expression& expression = *policy_.validations[i].expression;
      const auto start = services_.BeginStep();
      Decision decision;
      if (!expression.ok()) {
        decision = ErrorDecision(CompileErrorText(expression));
      } else {
        const Evaluated result = evaluation.Evaluate(expression, budget);
        if (result.out_of_budget) return std::string(kube_cel::kOutOfBudget);
        if (!result.error.empty()) {
          decision = ErrorDecision(EvaluationErrorText(expression, result.error));
        } else if (!result.value.is_true()) {
          decision.kind = Decision::Kind::kDeny;
          refused = true;
        }
      }
      decision.index = i;
      decision.elapsed = services_.clock->Steady() - start;
      verdict.decisions.push_back(std::move(decision));
    }
    AddMessages(verdict, budget, refused);
    verdict.cost += kube_cel::kPolicyBudget - budget.left();
    return "";
  }

  // Message expressions are worth evaluating only if there is something to say, unless they could
  // run out of budget: that is an error even for validations that hold.
  void AddMessages(Verdict& verdict, Budget& budget, bool refused) {
    std::uint64_t worst = policy_.variables.size() * (kube_cel::kCallLimit + 1);
    bool any = false;
    for (const Validation& validation : policy_.validations) {
      if (validation.message_expression == nullptr) continue;
      any = true;
      worst += kube_cel::kCallLimit + 1;
    }
    if (!refused && (!any || worst <= budget.left())) return;
    std::vector<std::string> messages(policy_.validations.size());
    if (any) {
      kube_cel::Inputs inputs = inputs_;
      inputs.Set(Input::kAuthorizer, {});
      inputs.Set(Input::kRequestResource, {});
      json::Arena arena;
      Evaluation evaluation(arena, inputs, policy_.variables);
      services_.BeginStep();
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto& expression = policy_.validations[i].message_expression;
        if (expression == nullptr || !expression->ok()) continue;
        const Evaluated result = evaluation.Evaluate(*expression, budget);
        if (result.out_of_budget) {
          FailMessages(verdict);
          return;
        }
        if (result.ok() && result.value.is_string())
          messages[i] = UsableMessage(result.value.text());
      }
    }
    for (Decision& decision : verdict.decisions) {
      if (decision.kind != Decision::Kind::kDeny || decision.is_error) continue;
      const Validation& validation = policy_.validations[decision.index];
      decision.reason = validation.reason.empty() ? "Invalid" : validation.reason;
      if (!messages[decision.index].empty()) {
        decision.message = messages[decision.index];
      } else if (!validation.message.empty()) {
        decision.message = validation.message;
      } else {
        decision.message =
            base::StrCat("failed expression: ", golang::TrimSpace(validation.expression->text()));
      }
    }
  }

  void FailMessages(Verdict& verdict) const {
    for (Decision& decision : verdict.decisions) {
      if (decision.is_error) continue;
      const Decision failed =
          ErrorDecision(base::StrCat("failed messageExpression: ", kube_cel::kOutOfBudget));
      decision.kind = failed.kind;
      decision.is_error = true;
      decision.message = failed.message;
    }
  }

  static std::string UsableMessage(std::string_view text) {
    text = golang::TrimSpace(text);
    const bool usable = text.size() <= kMaxMessage && text.find('\n') == std::string_view::npos;
    return usable ? std::string(text) : "";
  }

  std::string Annotate(Verdict& verdict) {
    if (policy_.audit_annotations.empty()) return "";
    kube_cel::Inputs inputs = inputs_;
    inputs.Set(Input::kAuthorizer, {});
    inputs.Set(Input::kRequestResource, {});
    json::Arena arena;
    Evaluation evaluation(arena, inputs, policy_.variables);
    Budget budget(kube_cel::kPolicyBudget);
    services_.BeginStep();
    for (const AuditAnnotation& annotation : policy_.audit_annotations) {
      Verdict::AuditValue value;
      value.key = annotation.key;
      const kube_cel::Expression& expression = *annotation.expression;
      if (!expression.ok()) {
        value.error = CompileErrorText(expression);
      } else {
        const Evaluated result = evaluation.Evaluate(expression, budget);
        if (result.out_of_budget) return std::string(kube_cel::kOutOfBudget);
        if (!result.error.empty()) {
          value.error = EvaluationErrorText(expression, result.error);
        } else if (result.value.is_string()) {
          value.value = golang::TrimSpace(result.value.text()).substr(0, kMaxAuditValue);
        } else if (result.value.kind() != cel::Kind::kNull) {
          value.error =
              base::StrCat("valueExpression '", expression.text(),
                           "' resulted in unsupported return type: ", cel::TypeName(result.value),
                           ". Return type must be either string or null.");
        }
      }
      verdict.audit_values.push_back(std::move(value));
    }
    verdict.cost += kube_cel::kPolicyBudget - budget.left();
    return "";
  }

  const PolicyServices& services_;
  const Policy& policy_;
  RequestInputs& request_;
  const Matched& matched_;
  const json::Value param_;
  kube_cel::Inputs inputs_;
};

}  // namespace

base::SteadyTime PolicyServices::BeginStep() const {
  const base::SteadyTime now = clock->Steady();
  return base::Fiber::BeginStep(now) ? clock->Steady() : now;
}

Verdict EvaluatePolicy(const PolicyServices& services, const Policy& policy, RequestInputs& request,
                       const Matched& matched, json::Value param) {
  return Evaluator(services, policy, request, matched, param).Run();
}

}  // namespace portcullis::policy
