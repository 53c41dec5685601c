// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value spec = policy.spec();
    if (!HasOperation(spec["matchConstraints"]["resourceRules"], "DELETE")) continue;
    if (policy.mutates || ConditionsSeeOperation(spec)) continue;
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      if (expression.section == "variables" || !Mentions(expression.text, "object")) continue;
      if (IsNullGuarded(expression.text, "object")) continue;
      findings.Add(*policy.manifest, expression.steps,
                   "the rules name DELETE, where object is null, and the expression reads it");
    }
  }
}

}  // namespace

const LintRule kObjectIsNullOnDelete = {
    "object-is-null-on-delete",
    Severity::kError,
    "an expression that reads object when it is null",
    "A DELETE has no object, only an oldObject: the expression fails, and with "
    "failurePolicy Fail nothing can be deleted (KEP-5793 had such an example, website PR "
    "#54422).",
    "Test request.operation, or read oldObject: (request.operation == \"DELETE\" ? "
    "oldObject : object).",
    &Check};

}  // namespace portcullis::offline
