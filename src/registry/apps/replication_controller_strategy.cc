// SPDX-License-Identifier: Apache-2.0

// ReplicationControllers (pkg/apis/core/validation).

#include "api/selector/label_selector.h"
#include "registry/apps/workload_checks.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/template_warnings.h"

namespace portcullis::registry {
namespace {

// `old` is null for a new one.
void CheckReplicationController(const Context& ctx, json::Value object, json::Value old,
                                FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  if (spec["selector"].empty()) errors.push_back(api::Required(path.Child("selector"), ""));
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  if (spec["template"].is_null()) {
    errors.push_back(api::Required(path.Child("template"), ""));
    return;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!api::LabelSelector::FromSet(spec["selector"]).Matches(labels)) {
    errors.push_back(TemplateDoesNotMatch(ctx, spec));
  }
  ValidatePodTemplate(ctx, spec["template"], old["spec"]["template"], path.Child("template"),
                      errors);
  CheckAlwaysRestarts(spec["template"], "ReplicationController", errors);
}

void ValidateReplicationController(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckReplicationController(ctx, object, {}, errors);
}

void ValidateReplicationControllerUpdate(const Context& ctx, json::Value object, json::Value old,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckReplicaStatus(object["status"], errors);
  CheckReplicationController(ctx, object, old, errors);
}

// A deletion without a propagation policy leaves the pods behind.
class ReplicationControllers final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  Dependents DependentsByDefault() const override { return Dependents::kOrphaned; }
};

// Kubernetes takes the old template for the new one: an update is warned of what it replaces.
void WarnOfController(const Context& ctx, json::Value object, json::Value old,
                      std::vector<std::string>& warnings) {
  if (old.is_null()) return WarnOfTemplate(ctx, object, old, warnings);
  WarnOfTemplateOnly(ctx, old, object, warnings);
}

}  // namespace

void AddReplicationControllerStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "replicationcontrollers",
             .validate = &ValidateReplicationController,
             .validate_update = &ValidateReplicationControllerUpdate,
             .warn = &WarnOfController,
             .traits = {.counts_generation = true, .names = NameStyle::kDeclaredSubdomain},
             .pod_spec = "spec.template.spec",
             .make = &Make<ReplicationControllers>});
}

}  // namespace portcullis::registry
