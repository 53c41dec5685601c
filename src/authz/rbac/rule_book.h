// SPDX-License-Identifier: Apache-2.0

// RuleBook holds the RBAC rules in force, compiled from the stored Roles, ClusterRoles and their
// bindings, and follows the store synchronously: a write to one of them returns when it is in
// force. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "authz/authorizer.h"
#include "authz/rbac/policy_rule.h"
#include "base/status.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::authz::rbac {

// Where the rules of ClusterRoles with an aggregationRule come from: computed here, so that they
// are in force at once, or what somebody (Kubernetes' controller) has written into them.
enum class Aggregation : std::uint8_t { kComputed, kStored };

class RuleBook {
 public:
  // `store` must outlive the book. `initializers`: roles and bindings that have initializers left
  // are passed over, as Kubernetes' informers did (docs/legacy.md).
  static std::shared_ptr<RuleBook> Open(store::Store& store, Aggregation aggregation,
                                        bool initializers = false);
  virtual ~RuleBook() = default;

  virtual Decision Authorize(const Attributes& attributes) const = 0;
  virtual Rules RulesFor(const api::UserInfo& user, std::string_view ns) const = 0;

  // The rules of a role as stored: kind "ClusterRole" (ns ignored) or "Role". kNotFound with
  // `clusterrole.rbac.authorization.k8s.io "x" not found`.
  virtual base::Result<std::vector<PolicyRule>> RoleRules(std::string_view kind,
                                                          std::string_view ns,
                                                          std::string_view name) const = 0;
  // All rules the user has in `ns` ("" for cluster-wide only); what went wrong is put in `errors`.
  virtual std::vector<PolicyRule> RulesOf(const api::UserInfo& user, std::string_view ns,
                                          std::vector<std::string>& errors) const = 0;
};

std::unique_ptr<Authorizer> MakeRbac(std::shared_ptr<const RuleBook> book);

// The rules an aggregated ClusterRole is to have: those of all ClusterRoles its selectors choose,
// also aggregated ones, in order of name, without duplicates. For the controller that writes
// them into the role.
std::vector<PolicyRule> AggregatedRules(json::Value aggregation_rule, const store::Reader& reader);

}  // namespace portcullis::authz::rbac
