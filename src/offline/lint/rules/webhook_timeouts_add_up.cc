// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr std::int64_t kMost = 30;
constexpr Target kTargets[] = {
    {"", "v1", "pods", "CREATE"},
    {"apps", "v1", "deployments", "CREATE"},
    {"", "v1", "services", "CREATE"},
    {"", "v1", "configmaps", "CREATE"},
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const Target& target : kTargets) {
    std::int64_t sum = 0;
    std::size_t count = 0;
    const WebhookFact* last = nullptr;
    for (const WebhookFact& webhook : facts.webhooks()) {
      if (!webhook.mutates || !RulesMatch(webhook.hook["rules"], target)) continue;
      sum += webhook.timeout_seconds();
      ++count;
      last = &webhook;
    }
    if (count < 2 || sum <= kMost) continue;
    findings.Add(*last->configuration, last->Steps({"timeoutSeconds"}),
                 base::StrCat(std::to_string(count), " mutating webhooks for ", target.resource,
                              " may take ", std::to_string(sum), " seconds together"));
    return;
  }
}

}  // namespace

const LintRule kWebhookTimeoutsAddUp = {
    "webhook-timeouts-add-up",
    Severity::kWarning,
    "mutating webhooks whose timeouts add up to more than a request may take",
    "Mutating webhooks are called one after the other; kube-apiserver ends a request "
    "after 60 seconds and gives admission about half of it (gatekeeper #3405, kyverno "
    "#15832, cloud-platform #2507).",
    "Lower timeoutSeconds, or narrow the rules so that fewer of them are called for one "
    "object.",
    &Check};

}  // namespace portcullis::offline
