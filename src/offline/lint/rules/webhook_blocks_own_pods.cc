// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const std::string_view ns = webhook.service()["namespace"].AsString();
    if (ns.empty() || !webhook.fails_closed()) continue;
    if (!RulesMatch(webhook.hook["rules"], {"", "v1", "pods", "CREATE"})) continue;
    if (!IsCalledIn(facts, webhook, ns)) continue;
    const json::Value selector = webhook.hook["objectSelector"];
    const json::Value labels = LabelsOfOwnPods(facts, webhook);
    // Without the Service in a file, a selector may well leave the pods out.
    if (!selector.empty() && (labels.is_null() || !Selects(selector, labels))) continue;
    findings.Add(*webhook.configuration, webhook.Steps({"rules"}),
                 base::StrCat("webhook ", webhook.name(), " is called for the pods of namespace ",
                              ns, ", where it runs, and failurePolicy is Fail"));
  }
}

}  // namespace

const LintRule kWebhookBlocksOwnPods = {
    "webhook-blocks-own-pods",
    Severity::kError,
    "a webhook that has to answer before its own pods can start",
    "When no pod of the webhook runs, its pods cannot be created either: the cluster does "
    "not heal itself (gatekeeper #725, kyverno #16177, topolvm #57).",
    "Exclude the namespace of the Service: namespaceSelector with "
    "kubernetes.io/metadata.name NotIn, or an objectSelector that the pods of the webhook "
    "do not match.",
    &Check};

}  // namespace portcullis::offline
