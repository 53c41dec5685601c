// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      if (expression.section != "matchConditions") continue;
      if (!Mentions(expression.text, "namespaceObject")) continue;
      findings.Add(*policy.manifest, expression.steps,
                   "namespaceObject is not there in match conditions");
    }
  }
}

}  // namespace

const LintRule kNamespaceObjectInConditions = {
    "namespace-object-in-conditions",
    Severity::kError,
    "a match condition that reads namespaceObject",
    "Match conditions are evaluated without the namespace: the expression fails for every "
    "object, and with failurePolicy Fail all of them are refused.",
    "Use namespaceSelector, or read namespaceObject in a validation.",
    &Check};

}  // namespace portcullis::offline
