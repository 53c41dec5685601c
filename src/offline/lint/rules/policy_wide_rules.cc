// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value rules = policy.spec()["matchConstraints"]["resourceRules"];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!IsWide(rules[i])) continue;
      findings.Add(
          *policy.manifest,
          std::vector<std::string>{"spec", "matchConstraints", "resourceRules", std::to_string(i)},
          "the policy judges all resources of all groups");
    }
  }
}

}  // namespace

const LintRule kPolicyWideRules = {
    "policy-wide-rules",
    Severity::kWarning,
    "a policy for all resources of all groups",
    "Its expressions are not type-checked (kubernetes website PR #40054): a field that a "
    "kind does not have is noticed only when a request of it is refused. It judges leases "
    "and events, too.",
    "Name the groups and resources that the expressions are written for.",
    &Check};

}  // namespace portcullis::offline
