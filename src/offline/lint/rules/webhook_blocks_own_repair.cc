// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr Target kTargets[] = {
    {"apps", "v1", "deployments", "UPDATE"}, {"", "v1", "secrets", "UPDATE"},
    {"", "v1", "services", "UPDATE"},        {"discovery.k8s.io", "v1", "endpointslices", "UPDATE"},
    {"", "v1", "endpoints", "UPDATE"},       {"apps", "v1", "replicasets", "CREATE"},
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    const std::string_view ns = webhook.service()["namespace"].AsString();
    if (ns.empty() || !webhook.fails_closed() || !webhook.hook["objectSelector"].empty()) continue;
    if (!IsCalledIn(facts, webhook, ns)) continue;
    for (const Target& target : kTargets) {
      if (!RulesMatch(webhook.hook["rules"], target)) continue;
      findings.Add(*webhook.configuration, webhook.Steps({"rules"}),
                   base::StrCat("webhook ", webhook.name(), " is called for ", target.resource,
                                " of namespace ", ns, ", where it runs"));
      break;
    }
  }
}

}  // namespace

const LintRule kWebhookBlocksOwnRepair = {
    "webhook-blocks-own-repair",
    Severity::kWarning,
    "a webhook that guards what would bring it back",
    "A Deployment, Secret or Service of the webhook that is broken can only be corrected "
    "through the webhook (slurm-operator #189, cloud-api-adaptor #305).",
    "Exclude the namespace of the Service, or these resources in it.",
    &Check};

}  // namespace portcullis::offline
