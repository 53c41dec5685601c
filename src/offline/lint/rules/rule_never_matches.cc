// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/never_matching.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void CheckRules(const LintFacts& facts, const Manifest& manifest, json::Value rules,
                const std::vector<std::string>& steps, Findings& findings) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!MatchesNothing(facts.catalog(), rules[i])) continue;
    auto place = steps;
    place.push_back(std::to_string(i));
    findings.Add(manifest, place, "no resource that is served has this group, version and name");
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    CheckRules(facts, *webhook.configuration, webhook.hook["rules"], webhook.Steps({"rules"}),
               findings);
  }
  for (const PolicyFact& policy : facts.policies()) {
    CheckRules(facts, *policy.manifest, policy.spec()["matchConstraints"]["resourceRules"],
               {"spec", "matchConstraints", "resourceRules"}, findings);
  }
}

}  // namespace

const LintRule kRuleNeverMatches = {
    "rule-never-matches",
    Severity::kError,
    "a rule for resources that the API does not have",
    "The webhook or policy is never asked, and nothing tells: Deployments in the core "
    "group, a version that is no longer served, a plural that is none.",
    "Write group, version and resource as `kubectl api-resources` shows them.",
    &Check};

}  // namespace portcullis::offline
