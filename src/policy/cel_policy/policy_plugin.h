// SPDX-License-Identifier: Apache-2.0

// What the plugins ValidatingAdmissionPolicy and MutatingAdmissionPolicy have in common: the
// policies in force, and what they work with.
#pragma once

#include <memory>

#include "admission/plugin.h"
#include "policy/cel_policy/mutating.h"
#include "policy/cel_policy/policy_set.h"
#include "policy/cel_policy/static_policies.h"
#include "policy/cel_policy/validating.h"

namespace portcullis::policy {

// Thread-safe.
class PolicyPluginCore {
 public:
  static base::Result<std::unique_ptr<PolicyPluginCore>> Create(
      const admission::PluginContext& context, PolicyType type);

  const PolicyServices& services() const { return services_; }
  // The policies that may judge this request; null if none of their rules can match.
  std::shared_ptr<const PolicySet> PoliciesFor(const admission::Request& request) const;

 private:
  PolicyPluginCore() = default;

  PolicyServices services_;
  std::unique_ptr<metrics::PolicyMetrics> metrics_;
  std::unique_ptr<metrics::AdmissionMetrics> condition_metrics_;
  std::unique_ptr<kube_cel::Compiler> own_compiler_;  // unless the context has one
  SelectorPool selectors_;
  std::unique_ptr<StaticPolicies> files_;  // null unless configured
  std::unique_ptr<PolicySource> source_;
};

}  // namespace portcullis::policy
