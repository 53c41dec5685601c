// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr std::int64_t kMost = 10;

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (webhook.timeout_seconds() <= kMost) continue;
    findings.Add(*webhook.configuration, webhook.Steps({"timeoutSeconds"}),
                 base::StrCat("webhook ", webhook.name(), " may take ",
                              std::to_string(webhook.timeout_seconds()), " seconds"));
  }
}

}  // namespace

const LintRule kWebhookLongTimeout = {
    "webhook-long-timeout",
    Severity::kWarning,
    "a webhook that may hold requests for long",
    "Each request waits that long when the webhook hangs; clients give up before, leader "
    "elections are lost (cert-manager PR #6488 and #2319, gatekeeper PR #2132: two "
    "requests in ten seconds).",
    "Set timeoutSeconds to 5 or less; an answer takes milliseconds.",
    &Check};

}  // namespace portcullis::offline
