// SPDX-License-Identifier: Apache-2.0

// PolicyRule: one permission of a role, and what it allows (rbac.authorization.k8s.io/v1). Value
// type.
#pragma once

#include <string>
#include <string_view>
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

// Whether one of the patterns is the URL or, ending with "*", begins it.
bool HasUrl(const std::vector<std::string>& patterns, std::string_view url);
bool Allows(const PolicyRule& rule, const Attributes& attributes);

// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`
std::string Describe(const PolicyRule& rule);

}  // namespace portcullis::authz::rbac
