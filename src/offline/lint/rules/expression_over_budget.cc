// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "base/strings.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"

namespace portcullis::offline {
namespace {

// What expressions cost that share a budget, in the request for which each of them costs most.
struct Together {
  std::uint64_t budget = 0;
  std::vector<std::string> first;  // of them, where it stands
  std::map<std::size_t, std::uint64_t> costs;
};

void CheckOne(const LintFacts& facts, const JudgedFact& judged, const ExpressionFact& expression,
              const TriedExpression& tried, Findings& findings) {
  const std::string& subject = facts.trials().trials()[tried.costliest_in].subject;
  const std::string limit = std::to_string(kube_cel::kCallLimit);
  findings.Add(judged.manifest(), judged.StepsOf(expression.steps),
               tried.exceeded ? base::StrCat("the expression costs more than ", limit, " for ",
                                             subject, " and is ended there")
                              : base::StrCat("the expression costs ", std::to_string(tried.cost),
                                             " for ", subject, "; at ", limit, " it is ended"));
}

void CheckTogether(const LintFacts& facts, const JudgedFact& judged, const Together& together,
                   Findings& findings) {
  for (const auto& [trial, cost] : together.costs) {
    if (cost <= together.budget / 2) continue;
    findings.Add(judged.manifest(), together.first,
                 base::StrCat("this expression and those beside it cost ", std::to_string(cost),
                              " for ", facts.trials().trials()[trial].subject, "; at ",
                              std::to_string(together.budget), " they are ended"));
    return;
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  for (const JudgedFact& judged : facts.judged()) {
    const Manifest& policy = *judged.policy.manifest;
    Together conditions{kube_cel::kMatchConditionBudget, {}, {}};
    Together others{kube_cel::kPolicyBudget, {}, {}};
    for (const ExpressionFact& expression : ExpressionsOf(policy)) {
      const TriedExpression* tried = facts.trials().Find(policy, expression.text);
      if (tried == nullptr) continue;
      if (tried->cost > kube_cel::kCallLimit / 2) {
        CheckOne(facts, judged, expression, *tried, findings);
        continue;
      }
      Together& together = expression.section == "matchConditions" ? conditions : others;
      if (together.first.empty()) together.first = judged.StepsOf(expression.steps);
      together.costs[tried->costliest_in] += tried->cost;
    }
    CheckTogether(facts, judged, conditions, findings);
    CheckTogether(facts, judged, others, findings);
  }
}

}  // namespace

const LintRule kExpressionOverBudget = {
    "expression-over-budget",
    Severity::kError,
    "an expression that takes more than half of what it may cost for a manifest",
    "The cost of expressions of policies, and of matchConditions of webhooks, is measured with the "
    "manifests among the files. Above the limit the API server ends the expression, and refuses "
    "the "
    "request if failurePolicy is Fail.",
    "Leave loops within loops out, test the cheap conditions first, look only at what has changed, "
    "or set matchConditions that leave large objects out.",
    &Check};

}  // namespace portcullis::offline
