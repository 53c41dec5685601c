// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const std::string_view effects = webhook.hook["sideEffects"].AsString("Unknown");
    if (effects == "None" || effects == "NoneOnDryRun") continue;
    findings.Add(*webhook.configuration, webhook.Steps({"sideEffects"}),
                 base::StrCat("no dry run passes webhook ", webhook.name(),
                              ": its sideEffects are ", effects));
  }
}

}  // namespace

const LintRule kWebhookSideEffects = {
    "webhook-side-effects",
    Severity::kWarning,
    "a webhook that refuses every dry run",
    "Only webhooks without side effects on dry runs are called for them; others have the request "
    "refused: `kubectl diff`, `kubectl apply --dry-run=server` and GitOps controllers fail (Argo "
    "CD "
    "#23752). admissionregistration.k8s.io/v1 takes no other ones.",
    "Set sideEffects to None, or to NoneOnDryRun once the webhook looks at request.dryRun.",
    &Check};

}  // namespace portcullis::offline
