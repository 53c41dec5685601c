// Leases (pkg/apis/coordination/validation).

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRules[] = {
    {"spec.leaseDurationSeconds", FieldRuleKind::kPositive},
    {"spec.leaseTransitions", FieldRuleKind::kMinimum, "0"},
};

}  // namespace

void AddLeases(KindTable& table) {
  table.Add({.group = "coordination.k8s.io",
             .resource = "leases",
             .rules = kRules,
             .traits = {.created_by_put = true, .needs_version = true}});
}

}  // namespace portcullis::registry
