// SPDX-License-Identifier: Apache-2.0

#include "authz/rbac/aggregation.h"

#include <algorithm>
#include <utility>

#include "api/selector/label_selector.h"
#include "authz/rbac/rule_book.h"

namespace portcullis::authz::rbac {

std::vector<PolicyRule> Aggregator::Gather(json::Value aggregation_rule) const {
  std::vector<PolicyRule> rules;
  Visited visited;
  Add(aggregation_rule, visited, rules);
  return rules;
}

void Aggregator::Add(json::Value aggregation_rule, Visited& visited,
                     std::vector<PolicyRule>& rules) const {
  for (json::Value selector : aggregation_rule["clusterRoleSelectors"].elements()) {
    const auto labels = api::LabelSelector::FromJson(selector);
    if (!labels.ok()) continue;
    for (const store::ObjectPtr& role : roles_) {
      if (!labels->Matches(role->document()["metadata"]["labels"])) continue;
      if (std::find(visited.begin(), visited.end(), role.get()) != visited.end()) continue;
      visited.push_back(role.get());
      const json::Value nested = role->document()["aggregationRule"];
      if (!nested.is_null()) {
        Add(nested, visited, rules);
        continue;
      }
      for (PolicyRule& rule : RulesFromJson(role->document()["rules"])) {
        if (std::find(rules.begin(), rules.end(), rule) == rules.end()) {
          rules.push_back(std::move(rule));
        }
      }
    }
  }
}

std::vector<PolicyRule> AggregatedRules(json::Value aggregation_rule, const store::Reader& reader) {
  const auto roles = reader.List({"rbac.authorization.k8s.io", "clusterroles"});
  return Aggregator(roles).Gather(aggregation_rule);
}

}  // namespace portcullis::authz::rbac
