// PolicyRule: one permission of a role, and what it allows (rbac.authorization.k8s.io/v1). Value
// type.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "authz/authorizer.h"
#include "json/value.h"

namespace portcullis::authz::rbac {

struct PolicyRule {
  std::vector<std::string> verbs, api_groups, resources, resource_names, non_resource_urls;
  bool operator==(const PolicyRule&) const = default;
};

std::vector<PolicyRule> RulesFromJson(json::Value rules);
json::Value RulesToJson(json::Arena& arena, const std::vector<PolicyRule>& rules);

bool Allows(const PolicyRule& rule, const Attributes& attributes);

// The permissions of `wanted` that `owned` does not contain, one group, resource and verb each;
// empty if everything is covered.
std::vector<PolicyRule> Uncovered(std::span<const PolicyRule> owned,
                                  std::span<const PolicyRule> wanted);
// Joins the verbs of rules that are alike otherwise.
std::vector<PolicyRule> Compact(const std::vector<PolicyRule>& rules);
// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`
std::string Describe(const PolicyRule& rule);

}  // namespace portcullis::authz::rbac
