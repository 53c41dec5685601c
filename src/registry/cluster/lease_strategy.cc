// SPDX-License-Identifier: Apache-2.0

// Leases (pkg/apis/coordination/validation).

#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRules[] = {
    {"spec.leaseDurationSeconds", FieldRuleKind::kPositive},
    {"spec.leaseTransitions", FieldRuleKind::kMinimum, "0"},
};

constexpr DisabledField kDisabled[] = {{"CoordinatedLeaderElection", "spec.strategy"},
                                       {"CoordinatedLeaderElection", "spec.preferredHolder"}};

void ValidateLease(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view strategy = spec["strategy"].AsString();
  if (!spec["strategy"].is_null()) {
    // Kubernetes names the field twice.
    const FieldPath at = path.Child("strategy", "strategy");
    if (strategy.find('/') != std::string_view::npos) {
      AddInvalid(at, strategy, api::IsQualifiedName(strategy), errors);
    } else if (strategy != "OldestEmulationVersion") {
      errors.push_back(
          api::NotSupported(at, api::NamedValue(strategy), {"OldestEmulationVersion"}));
    }
  }
  if (strategy.empty() && !spec["preferredHolder"].AsString().empty()) {
    errors.push_back(api::Forbidden(path.Child("preferredHolder"),
                                    "may only be specified if `strategy` is defined"));
  }
}

}  // namespace

void AddLeaseStrategy(KindTable& table) {
  table.Add({.group = "coordination.k8s.io",
             .resource = "leases",
             .validate = &ValidateLease,
             .rules = kRules,
             .traits = {.created_by_put = true, .needs_version = true, .free_finalizers = true},
             .metadata = {.update = "u"},
             .disabled = kDisabled});
}

}  // namespace portcullis::registry
