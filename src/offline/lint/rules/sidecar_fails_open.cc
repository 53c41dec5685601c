// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (!webhook.mutates || webhook.fails_closed()) continue;
    if (!RulesMatch(webhook.hook["rules"], {"", "v1", "pods", "CREATE"})) continue;
    findings.Add(*webhook.configuration, webhook.Steps({"failurePolicy"}),
                 base::StrCat("pods start without what webhook ", webhook.name(),
                              " adds when it does not answer"));
  }
}

}  // namespace

const LintRule kSidecarFailsOpen = {
    "sidecar-fails-open",
    Severity::kWarning,
    "a mutating webhook for pods that is passed over when it fails",
    "Pods start without what it adds, and stay so: sidecars, secrets, security contexts "
    "(otel-operator #1765, linkerd #4754).",
    "failurePolicy Fail with an objectSelector for the pods that need it; or look for "
    "pods without it.",
    &Check};

}  // namespace portcullis::offline
