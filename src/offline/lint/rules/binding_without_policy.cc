// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  if (facts.policies().empty()) return;  // the policies may be elsewhere
  for (const Manifest* binding : facts.bindings()) {
    const std::string_view name = binding->object["spec"]["policyName"].AsString();
    bool found = false;
    for (const PolicyFact& policy : facts.policies())
      found = found || policy.manifest->name == name;
    if (found) continue;
    findings.Add(*binding, std::vector<std::string>{"spec", "policyName"},
                 base::StrCat("no file has a policy ", name));
  }
}

}  // namespace

const LintRule kBindingWithoutPolicy = {
    "binding-without-policy",
    Severity::kError,
    "a binding of a policy that is in no file",
    "A wrong policyName is taken as it is, and the binding never has an effect.",
    "Correct spec.policyName, or give the policy.",
    &Check};

}  // namespace portcullis::offline
