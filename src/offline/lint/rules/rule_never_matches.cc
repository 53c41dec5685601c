// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

// Whether a served resource is named by the group, version and resource of the rule.
bool IsServed(const LintFacts& facts, json::Value rule) {
  const json::Value wanted = json::MakeArray(facts.arena(), {rule});
  for (const api::catalog::ResourceInfo* resource : facts.catalog().resources()) {
    const api::GroupVersionResource& names = resource->resource;
    const auto matches = [&](std::string_view name) {
      for (const json::Value& operation : rule["operations"].elements()) {
        const std::string_view text = operation.AsString() == "*" ? "CREATE" : operation.AsString();
        if (RulesMatch(wanted, {names.group, names.version, name, text, resource->namespaced}))
          return true;
      }
      return false;
    };
    if (matches(names.resource)) return true;
    for (const api::catalog::SubresourceInfo& sub : resource->subresources) {
      if (matches(base::StrCat(names.resource, "/", sub.name))) return true;
    }
  }
  return false;
}

// A group of which the API has nothing may be a custom resource's.
bool IsKnown(const LintFacts& facts, json::Value rule) {
  for (const json::Value& group : rule["apiGroups"].elements()) {
    if (group.AsString() == "*" || facts.catalog().FindGroup(group.AsString()) == nullptr) {
      return false;
    }
  }
  return !rule["apiGroups"].empty();
}

void CheckRules(const LintFacts& facts, const Manifest& manifest, json::Value rules,
                const std::vector<std::string>& steps, Findings& findings) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!IsKnown(facts, rules[i]) || IsServed(facts, rules[i])) continue;
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
