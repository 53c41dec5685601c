// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (webhook.mutates || webhook.fails_closed()) continue;
    findings.Add(
        *webhook.configuration, webhook.Steps({"failurePolicy"}),
        base::StrCat("webhook ", webhook.name(), " is passed over when it does not answer"));
  }
}

}  // namespace

const LintRule kWebhookFailsOpen = {
    "webhook-fails-open",
    Severity::kInfo,
    "a validating webhook that is passed over when it fails",
    "What it is to refuse gets in while it does not answer, and nothing says so but a "
    "metric (gatekeeper #3538, kubernetes #92738).",
    "failurePolicy Fail with narrow rules, or a ValidatingAdmissionPolicy, which does not "
    "fail to answer.",
    &Check};

}  // namespace portcullis::offline
