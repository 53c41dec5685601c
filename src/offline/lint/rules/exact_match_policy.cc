// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (webhook.hook["matchPolicy"].AsString() != "Exact") continue;
    findings.Add(*webhook.configuration, webhook.Steps({"matchPolicy"}),
                 base::StrCat("webhook ", webhook.name(), " is not called for other versions"));
  }
  for (const PolicyFact& policy : facts.policies()) {
    if (policy.spec()["matchConstraints"]["matchPolicy"].AsString() != "Exact") continue;
    findings.Add(*policy.manifest,
                 std::vector<std::string>{"spec", "matchConstraints", "matchPolicy"},
                 "the policy does not judge other versions");
  }
}

}  // namespace

const LintRule kExactMatchPolicy = {
    "exact-match-policy",
    Severity::kWarning,
    "a rule that misses other versions of the same resource",
    "With matchPolicy Exact an object gets past in another version of its group: a bypass "
    "for any client (Kubernetes documentation, matchPolicy).",
    "matchPolicy: Equivalent, the default.",
    &Check};

}  // namespace portcullis::offline
