// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    if (!policy.bindings.empty()) continue;
    findings.Add(*policy.manifest, std::vector<std::string>{"metadata", "name"},
                 base::StrCat("no file has a binding of policy ", policy.manifest->name));
  }
}

}  // namespace

const LintRule kPolicyNotBound = {
    "policy-not-bound",
    Severity::kWarning,
    "a policy that no binding puts in force",
    "Without a binding a policy judges nothing, and its status says nothing of it "
    "(kubernetes #119180, kyverno #9351).",
    "Add a ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding with its "
    "name as policyName.",
    &Check};

}  // namespace portcullis::offline
