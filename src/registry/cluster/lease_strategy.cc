// SPDX-License-Identifier: Apache-2.0

// Leases (pkg/apis/coordination/validation).

#include "registry/cluster/lease_checks.h"
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
  if (!spec["strategy"].is_null()) CheckLeaseStrategy(strategy, path.Child("strategy"), errors);
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
