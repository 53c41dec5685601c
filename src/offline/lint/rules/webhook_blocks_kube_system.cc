// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr Target kTargets[] = {
    {"", "v1", "pods", "CREATE"},
    {"apps", "v1", "deployments", "UPDATE"},
    {"apps", "v1", "daemonsets", "UPDATE"},
    {"", "v1", "configmaps", "UPDATE"},
    {"", "v1", "serviceaccounts", "UPDATE"},
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (!webhook.fails_closed() || !webhook.hook["objectSelector"].empty()) continue;
    if (!IsCalledIn(facts, webhook, "kube-system")) continue;
    for (const Target& target : kTargets) {
      if (!RulesMatch(webhook.hook["rules"], target)) continue;
      findings.Add(*webhook.configuration, webhook.Steps({"rules"}),
                   base::StrCat("webhook ", webhook.name(), " is called for ", target.resource,
                                " in kube-system, and failurePolicy is Fail"));
      break;
    }
  }
}

}  // namespace

const LintRule kWebhookBlocksKubeSystem = {
    "webhook-blocks-kube-system",
    Severity::kError,
    "a webhook that has to answer before kube-system can change",
    "When it does not answer, the network, DNS and the control plane itself cannot be "
    "repaired (capsule #2036, cozystack #3125, gatekeeper #3183).",
    "Exclude kube-system: namespaceSelector with kubernetes.io/metadata.name NotIn "
    "[kube-system].",
    &Check};

}  // namespace portcullis::offline
