// SPDX-License-Identifier: Apache-2.0

// Scopes narrow a quota down to some objects: BestEffort pods, pods of some priority classes.
// Kubernetes docs, "Resource Quotas: Quota scopes".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::quota {

// One requirement; each entry of spec.scopes is one with operator Exists. Value type.
struct ScopeSelector {
  std::string scope;  // "PriorityClass"
  std::string op;     // "In", "NotIn", "Exists", "DoesNotExist"
  std::vector<std::string> values;
  bool operator==(const ScopeSelector&) const = default;
};

// A ScopedResourceSelectorRequirement.
ScopeSelector ReadScopeSelector(json::Value requirement);
// All requirements of a quota, spec.scopes first.
std::vector<ScopeSelector> ScopeSelectorsOf(json::Value quota);

// Whether `names`, a set that the object has for this scope, satisfies the operator. Error for an
// unknown operator: `"Foo" is not a valid scope selector operator`.
base::Result<bool> MatchesNames(const ScopeSelector& selector,
                                const std::vector<std::string_view>& names);

// As Go prints the struct: `{PriorityClass In [a b]}`.
std::string ScopeSelectorText(const ScopeSelector& selector);

}  // namespace portcullis::api::quota
