// SPDX-License-Identifier: Apache-2.0

// Deployments (pkg/apis/apps/validation).

#include "base/strings.h"
#include "registry/apps/workload_checks.h"
#include "registry/kind_table.h"
#include "registry/pods/template_warnings.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

void CheckDeploymentStrategy(const Context& ctx, json::Value strategy, FieldErrors& errors) {
  const FieldPath path("spec", "strategy");
  const FieldPath rolling_path = path.Child("rollingUpdate");
  const json::Value rolling = strategy["rollingUpdate"];
  const std::string_view type = strategy["type"].AsString();
  if (type == "Recreate") {
    if (rolling.is_null()) return;
    errors.push_back(
        api::Forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(
        api::NotSupported(path, GoValue(ctx, "io.k8s.api.apps.v1.DeploymentStrategy", strategy),
                          {"Recreate", "RollingUpdate"}));
  } else if (rolling.is_null()) {
    errors.push_back(api::Required(rolling_path, "this should be defaulted and never be nil"));
  } else {
    const json::Value most = rolling["maxUnavailable"];
    CheckIntOrPercent(most, rolling_path.Child("maxUnavailable"), errors);
    CheckIntOrPercent(rolling["maxSurge"], rolling_path.Child("maxSurge"), errors);
    if (NumberOrPercent(most) == 0 && NumberOrPercent(rolling["maxSurge"]) == 0) {
      errors.push_back(api::Invalid(rolling_path.Child("maxUnavailable"), most,
                                    "may not be 0 when `maxSurge` is 0"));
    }
    CheckAtMostHundredPercent(most, rolling_path.Child("maxUnavailable"), errors);
  }
}

// The revision to go back to: a field in old versions, else an annotation (docs/legacy.md). One that
// is no number has not come this far.
void CheckRollback(json::Value object, FieldErrors& errors) {
  const json::Value field = object["spec"]["rollbackTo"];
  const std::string_view annotation =
      object["metadata"]["annotations"]["deprecated.deployment.rollback.to"].AsString();
  const std::int64_t revision =
      field.is_object() ? field["revision"].AsInt() : base::ParseInt(annotation).value_or(0);
  CheckNonNegative(json::Value::Int(revision), FieldPath("spec", "rollback").Child("version"),
                   errors);
}

// `old` is null for a new one.
void CheckDeployment(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  CheckWorkloadSelector(ctx, spec, "deployment", errors);
  CheckReplicaTemplate(ctx, spec, old["spec"], errors);
  CheckDeploymentStrategy(ctx, spec["strategy"], errors);
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  CheckNonNegative(spec["revisionHistoryLimit"], path.Child("revisionHistoryLimit"), errors);
  CheckRollback(object, errors);
  if (const json::Value seconds = spec["progressDeadlineSeconds"]; seconds.is_int()) {
    CheckNonNegative(seconds, path.Child("progressDeadlineSeconds"), errors);
    if (seconds.AsInt() <= spec["minReadySeconds"].AsInt()) {
      errors.push_back(api::Invalid(path.Child("progressDeadlineSeconds"), seconds.AsInt(),
                                    ctx.release->Has("WorkloadsAreCheckedAsOfOld")
                                        ? "must be greater than minReadySeconds."
                                        : "must be greater than minReadySeconds"));
    }
  }
}

void ValidateDeployment(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckDeployment(ctx, object, {}, errors);
}

void ValidateDeploymentUpdate(const Context& ctx, json::Value object, json::Value old,
                              FieldErrors& errors) {
  if (ctx.subresource == "status") {
    const json::Value status = object["status"];
    CheckStatusCounts(
        status,
        {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
         "unavailableReplicas", "terminatingReplicas", "collisionCount"},
        errors);
    CheckStatusAtMost(status, "updatedReplicas", "replicas", kMoreThanReplicas, errors);
    CheckStatusAtMost(status, "readyReplicas", "replicas", kMoreThanReplicas, errors);
    CheckStatusAtMost(status, "availableReplicas", "replicas", kMoreThanReplicas, errors);
    CheckStatusAtMost(status, "availableReplicas", "readyReplicas",
                      "cannot be greater than readyReplicas", errors);
    CheckCollisionCount(status, old["status"], errors);
    return;
  }
  CheckDeployment(ctx, object, old, errors);
  CheckSelectorStays(ctx, object, old, errors);
}

}  // namespace

void AddDeploymentStrategy(KindTable& table) {
  table.Add({.group = "apps",
             .resource = "deployments",
             .validate = &ValidateDeployment,
             .validate_update = &ValidateDeploymentUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true,
                        .counts_annotations = true,
                        .status_keeps = StatusKeeps::kLabels},
             .zero_fields = R"({"spec":{"replicas":0}})",
             .pod_spec = "spec.template.spec",
             .disabled = kDisabledOfReplicas});
}

}  // namespace portcullis::registry
