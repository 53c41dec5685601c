// SPDX-License-Identifier: Apache-2.0

// ReplicaSets (pkg/apis/apps/validation).

#include "registry/apps/workload_checks.h"
#include "registry/kind_table.h"
#include "registry/pods/template_warnings.h"

namespace portcullis::registry {
namespace {

// `old` is null for a new one.
void CheckReplicaSet(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckNonNegative(spec["replicas"], FieldPath("spec", "replicas"), errors);
  CheckNonNegative(spec["minReadySeconds"], FieldPath("spec", "minReadySeconds"), errors);
  CheckWorkloadSelector(ctx, spec, "deployment", errors);
  CheckReplicaTemplate(ctx, spec, old["spec"], errors);
}

void ValidateReplicaSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckReplicaSet(ctx, object, {}, errors);
}

void ValidateReplicaSetUpdate(const Context& ctx, json::Value object, json::Value old,
                              FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckReplicaStatus(object["status"], errors);
  CheckReplicaSet(ctx, object, old, errors);
  CheckSelectorStays(ctx, object, old, errors);
}

}  // namespace

void AddReplicaSetStrategy(KindTable& table) {
  table.Add({.group = "apps",
             .resource = "replicasets",
             .validate = &ValidateReplicaSet,
             .validate_update = &ValidateReplicaSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .zero_fields = R"({"spec":{"replicas":0}})",
             .pod_spec = "spec.template.spec",
             .disabled = kDisabledOfReplicas});
}

}  // namespace portcullis::registry
