// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      const TriedExpression* tried = facts.trials().Find(*policy.manifest, expression.text);
      if (tried == nullptr || tried->cost <= kube_cel::kCallLimit / 2) continue;
      const std::string& subject = facts.trials().trials()[tried->costliest_in].subject;
      const std::string limit = std::to_string(kube_cel::kCallLimit);
      findings.Add(*policy.manifest, expression.steps,
                   tried->exceeded
                       ? base::StrCat("the expression costs more than ", limit, " for ", subject,
                                      " and is ended there")
                       : base::StrCat("the expression costs ", std::to_string(tried->cost), " for ",
                                      subject, "; at ", limit, " it is ended"));
    }
  }
}

}  // namespace

const LintRule kExpressionOverBudget = {
    "expression-over-budget",
    Severity::kError,
    "an expression that takes more than half of what it may cost for a manifest",
    "The cost is measured with the manifests among the files. Above the limit the API server ends "
    "the "
    "expression, and refuses the request if failurePolicy is Fail.",
    "Leave loops within loops out, test the cheap conditions first, look only at what has changed, "
    "or set "
    "matchConditions that leave large objects out.",
    &Check};

}  // namespace portcullis::offline
