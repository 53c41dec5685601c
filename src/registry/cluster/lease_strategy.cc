// SPDX-License-Identifier: Apache-2.0

// Leases (pkg/apis/coordination/validation).

#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr DisabledField kDisabled[] = {{"CoordinatedLeaderElection", "spec.strategy"},
                                       {"CoordinatedLeaderElection", "spec.preferredHolder"}};

void ValidateLease(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckPositive(spec["leaseDurationSeconds"], path.Child("leaseDurationSeconds"), errors);
  CheckNonNegative(spec["leaseTransitions"], path.Child("leaseTransitions"), errors);
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
             .traits = {.created_by_put = true, .needs_version = true, .free_finalizers = true},
             .metadata = {.update = "u"},
             .disabled = kDisabled});
}

}  // namespace portcullis::registry
