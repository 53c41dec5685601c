// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const JudgedFact& judged : facts.judged()) {
    const Manifest& policy = *judged.policy.manifest;
    for (const ExpressionFact& expression : ExpressionsOf(policy)) {
      const TriedExpression* tried = facts.trials().Find(policy, expression.text);
      if (tried == nullptr || tried->error.empty() || tried->exceeded) continue;
      // Found where the variable stands.
      if (tried->error.starts_with("composited variable")) continue;
      const std::vector<std::string> steps = judged.StepsOf(expression.steps);
      if (findings.HasErrorAt(judged.manifest(), steps)) continue;
      findings.Add(
          judged.manifest(), steps,
          base::StrCat("the expression fails for ",
                       facts.trials().trials()[tried->failed_in].subject, ": ", tried->error));
    }
  }
}

}  // namespace

const LintRule kExpressionFails = {
    "expression-fails",
    Severity::kError,
    "an expression that fails for an object that an API server takes",
    "Tried with the smallest object of each common kind, created, updated and deleted, and with "
    "the "
    "manifests among the files: an optional field that is absent, or a value of another type. With "
    "failurePolicy Fail such requests are refused, with Ignore they get in unjudged (kubernetes "
    "#117601, "
    "celtest review in kubernetes PR #138564).",
    "Guard optional fields: has(object.spec.x), or object.spec.?x.orValue(…); test object and "
    "oldObject for "
    "null on DELETE and CREATE.",
    &Check};

}  // namespace portcullis::offline
