// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    if (!policy.spec()["paramKind"].is_object()) continue;
    bool used = false;
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      used = used || Mentions(expression.text, "params");
    }
    if (used) continue;
    findings.Add(*policy.manifest, std::vector<std::string>{"spec", "paramKind"},
                 "no expression reads params");
  }
}

}  // namespace

const LintRule kParameterNotUsed = {
    "parameter-not-used",
    Severity::kInfo,
    "a policy with paramKind whose expressions read no params",
    "The binding needs a parameter that has no effect, and without it requests may be "
    "refused.",
    "Delete paramKind and paramRef, or read params.",
    &Check};

}  // namespace portcullis::offline
