// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const json::Value rules = webhook.hook["rules"];
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (!IsWide(rules[i])) continue;
      auto steps = webhook.Steps({"rules"});
      steps.push_back(std::to_string(i));
      findings.Add(
          *webhook.configuration, steps,
          base::StrCat("webhook ", webhook.name(), " is called for all resources of all groups"));
    }
  }
}

}  // namespace

const LintRule kWebhookWideRules = {
    "webhook-wide-rules",
    Severity::kWarning,
    "a webhook that is called for everything",
    "Leases, events, status updates and reviews of every kind reach the webhook: it is "
    "flooded, and every failure of it reaches all (gatekeeper #266, #671).",
    "Name the groups and resources that the webhook looks at.",
    &Check};

}  // namespace portcullis::offline
