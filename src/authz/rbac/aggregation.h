// SPDX-License-Identifier: Apache-2.0

// The rules of ClusterRoles that are put together from others by labels.
// Source: Kubernetes docs, "Aggregated ClusterRoles".
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "authz/rbac/policy_rule.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::authz::rbac {

// Gathers over one list of ClusterRoles, which must outlive it. Roles that choose each other are
// followed once.
class Aggregator {
 public:
  explicit Aggregator(const std::vector<store::ObjectPtr>& roles) : roles_(roles) {}

  // Without duplicates, in the order of selectors and names.
  std::vector<PolicyRule> Gather(json::Value aggregation_rule) const;

 private:
  using Visited = std::vector<const store::Object*>;
  void Add(json::Value aggregation_rule, Visited& visited, std::vector<PolicyRule>& rules) const;

  const std::vector<store::ObjectPtr>& roles_;
};

}  // namespace portcullis::authz::rbac
