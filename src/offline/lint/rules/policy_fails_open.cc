// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    if (policy.mutates || policy.fails_closed() || !policy.denies()) continue;
    findings.Add(*policy.manifest, std::vector<std::string>{"spec", "failurePolicy"},
                 "objects for which an expression fails are admitted");
  }
}

}  // namespace

const LintRule kPolicyFailsOpen = {
    "policy-fails-open",
    Severity::kWarning,
    "a policy that denies, and lets pass what it cannot judge",
    "With failurePolicy Ignore an expression that fails is passed over: an object without "
    "the field that it reads gets in (kubernetes #117601).",
    "failurePolicy Fail, with guards for fields that may be absent.",
    &Check};

}  // namespace portcullis::offline
