// SPDX-License-Identifier: Apache-2.0

// ResourceClaimTemplates (pkg/apis/resource/validation).

#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

void CheckTemplate(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckTemplateMetadata(WithSentLists(ctx.arena, spec["metadata"], ctx.sent["spec"]["metadata"]),
                        FieldPath("spec", "metadata"), errors);
  CheckDeviceClaim(ctx, spec["spec"]["devices"], FieldPath("spec", "spec", "devices"), errors);
}

void ValidateTemplate(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckAdminAccess(ctx, object["spec"]["spec"]["devices"]["requests"], errors);
  CheckTemplate(ctx, object, errors);
}

void ValidateTemplateUpdate(const Context& ctx, json::Value object, json::Value old,
                            FieldErrors& errors) {
  CheckUnchanged(ctx, "io.k8s.api.resource.v1.ResourceClaimTemplateSpec",
                 {object["spec"], old["spec"], ctx.sent["spec"]}, FieldPath("spec"), errors);
}

constexpr DisabledField kDisabledOfTemplates[] = {
    {"DRAPrioritizedList", "spec.spec.devices.requests[].firstAvailable"},
    {"DRADeviceTaints", "spec.spec.devices.requests[].exactly.tolerations"},
    {"DRADeviceTaints", "spec.spec.devices.requests[].firstAvailable[].tolerations"},
    {"DRAAdminAccess", "spec.spec.devices.requests[].exactly.adminAccess"},
    {"DRAConsumableCapacity", "spec.spec.devices.constraints[].distinctAttribute"},
    {"DRAConsumableCapacity", "spec.spec.devices.requests[].exactly.capacity"},
    {"DRAConsumableCapacity", "spec.spec.devices.requests[].firstAvailable[].capacity"}};

}  // namespace

void AddResourceClaimTemplateStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "resourceclaimtemplates",
             .validate = &ValidateTemplate,
             .validate_between = &AsNew<&CheckTemplate>,
             .validate_update = &ValidateTemplateUpdate,
             .judged_in = "v1",
             .traits = {.returns_deleted = true},
             .metadata = {.update = "FU"},
             .disabled = kDisabledOfTemplates});
}

}  // namespace portcullis::registry
