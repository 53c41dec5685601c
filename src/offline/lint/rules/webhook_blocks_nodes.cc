// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr Target kTargets[] = {
    {"coordination.k8s.io", "v1", "leases", "UPDATE"},
    {"", "v1", "nodes/status", "UPDATE", false},
    {"", "v1", "nodes", "CREATE", false},
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (!webhook.fails_closed() || !webhook.hook["objectSelector"].empty()) continue;
    for (const Target& target : kTargets) {
      if (!RulesMatch(webhook.hook["rules"], target)) continue;
      if (target.namespaced && !IsCalledIn(facts, webhook, "kube-node-lease")) continue;
      findings.Add(*webhook.configuration, webhook.Steps({"rules"}),
                   base::StrCat("webhook ", webhook.name(), " is called for ", target.resource,
                                ", and failurePolicy is Fail"));
      break;
    }
  }
}

}  // namespace

const LintRule kWebhookBlocksNodes = {
    "webhook-blocks-nodes",
    Severity::kError,
    "a webhook that has to answer before nodes can report",
    "Kubelets renew leases and write the status of their nodes all the time; when the "
    "webhook does not answer, healthy nodes are taken for dead (gatekeeper PR #2132, "
    "konnectivity outages).",
    "Leave nodes, nodes/status and leases out of the rules, or let failurePolicy be "
    "Ignore for them.",
    &Check};

}  // namespace portcullis::offline
