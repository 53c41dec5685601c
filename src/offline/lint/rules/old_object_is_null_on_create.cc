// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value spec = policy.spec();
    if (!HasOperation(spec["matchConstraints"]["resourceRules"], "CREATE")) continue;
    if (ConditionsSeeOperation(spec)) continue;
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      if (expression.section == "variables" || !Mentions(expression.text, "oldObject")) continue;
      if (IsNullGuarded(expression.text, "oldObject")) continue;
      findings.Add(*policy.manifest, expression.steps,
                   "the rules name CREATE, where oldObject is null, and the expression reads it");
    }
  }
}

}  // namespace

const LintRule kOldObjectIsNullOnCreate = {
    "old-object-is-null-on-create",
    Severity::kError,
    "an expression that reads oldObject when it is null",
    "A CREATE has no oldObject: the expression fails, and with failurePolicy Fail nothing "
    "can be created (gatekeeper-library PR #173: only one of the operations was tested).",
    "Test oldObject == null or request.operation first, or match only UPDATE and DELETE.",
    &Check};

}  // namespace portcullis::offline
