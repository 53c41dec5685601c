// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  const Target pods{"", "v1", "pods", "CREATE"};
  std::vector<const WebhookFact*> mutators;
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (webhook.mutates && RulesMatch(webhook.hook["rules"], pods)) mutators.push_back(&webhook);
  }
  if (mutators.size() < 2) return;
  for (const WebhookFact* webhook : mutators) {
    if (webhook->hook["reinvocationPolicy"].AsString("Never") != "Never") continue;
    findings.Add(
        *webhook->configuration, webhook->Steps({"reinvocationPolicy"}),
        base::StrCat("webhook ", webhook->name(), " is one of ", std::to_string(mutators.size()),
                     " that change pods, and does not see what later ones add"));
  }
}

}  // namespace

const LintRule kMutatorsOfOneField = {
    "mutators-of-one-field",
    Severity::kInfo,
    "several mutating webhooks for one resource without reinvocation",
    "They run in the order of their names, and none of the first sees what a later one "
    "adds (kubernetes #64333, #73291, gatekeeper #1133).",
    "reinvocationPolicy: IfNeeded for those that have to see the whole object.",
    &Check};

}  // namespace portcullis::offline
