// SPDX-License-Identifier: Apache-2.0

// ResourceClaims (pkg/apis/resource/validation).

#include <algorithm>

#include "registry/devices/allocation_checks.h"
#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostConsumers = 256;

void ValidateClaim(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckAdminAccess(ctx, object["spec"]["devices"]["requests"], errors);
  CheckDeviceClaim(ctx, object["spec"]["devices"], FieldPath("spec", "devices"), errors);
}

bool HasNewConsumer(json::Value consumers, json::Value before) {
  const auto known = before.elements();
  const auto all = consumers.elements();
  return std::any_of(all.begin(), all.end(), [&](const json::Value& consumer) {
    return std::find(known.begin(), known.end(), consumer) == known.end();
  });
}

// Who uses the claim, and what it was given.
void CheckClaimStatus(const Context& ctx, json::Value object, json::Value old,
                      FieldErrors& errors) {
  const json::Value status = object["status"];
  const json::Value consumers = status["reservedFor"];
  const FieldPath path("status", "reservedFor");
  CheckAllocatedAdminAccess(ctx, status["allocation"]["devices"]["results"],
                            old["status"]["allocation"]["devices"]["results"], errors);
  CheckMayWriteClaimStatus(ctx, status, old["status"], errors);
  if (CheckSize(consumers, kMostConsumers, path, errors)) {
    std::size_t index = 0;
    for (const json::Value& consumer : consumers.elements()) {
      const FieldPath at = path.Index(index++);
      for (const std::string_view field : {"resource", "name", "uid"}) {
        RequireField(consumer, field, at, errors);
      }
    }
    CheckUnique(consumers, "uid", path, errors);
  }
  const json::Value allocation = status["allocation"];
  const FieldPath allocation_path("status", "allocation");
  CheckDeviceStatuses(status["devices"], allocation, FieldPath("status", "devices"), errors);
  if (!consumers.empty() && allocation.is_null()) {
    errors.push_back(api::Forbidden(path, "may not be specified when `allocated` is not set"));
  }
  if (!consumers.empty() && !allocation.is_null() &&
      !object["metadata"]["deletionTimestamp"].is_null() &&
      HasNewConsumer(consumers, old["status"]["reservedFor"])) {
    errors.push_back(api::Forbidden(path,
                                    "new entries may not be added while `deallocationRequested` or "
                                    "`deletionTimestamp` are set"));
  }
  if (allocation.is_null()) return;
  if (const json::Value before = old["status"]["allocation"]; !before.is_null()) {
    CheckUnchanged(ctx, "io.k8s.api.resource.v1.AllocationResult",
                   {allocation, before, ctx.sent["status"]["allocation"]}, allocation_path, errors);
  } else {
    CheckAllocation(allocation, object["spec"]["devices"], allocation_path, errors);
  }
}

void ValidateClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckClaimStatus(ctx, object, old, errors);
  CheckUnchanged(ctx, "io.k8s.api.resource.v1.ResourceClaimSpec",
                 {object["spec"], old["spec"], ctx.sent["spec"]}, FieldPath("spec"), errors);
}

constexpr DisabledField kDisabledOfClaims[] = {
    {"DRAPrioritizedList", "spec.devices.requests[].firstAvailable"},
    {"DRADeviceTaints", "spec.devices.requests[].exactly.tolerations"},
    {"DRADeviceTaints", "spec.devices.requests[].firstAvailable[].tolerations"},
    {"DRAAdminAccess", "spec.devices.requests[].exactly.adminAccess"},
    {"DRAConsumableCapacity", "spec.devices.constraints[].distinctAttribute"},
    {"DRAConsumableCapacity", "spec.devices.requests[].exactly.capacity"},
    {"DRAConsumableCapacity", "spec.devices.requests[].firstAvailable[].capacity"},
    {"DRAResourceClaimDeviceStatus", "status.devices"},
    {"DRAAdminAccess", "status.allocation.devices.results[].adminAccess"},
    {"DRAConsumableCapacity", "status.allocation.devices.results[].shareID"},
    {"DRAConsumableCapacity", "status.allocation.devices.results[].consumedCapacity"},
    {"DRAConsumableCapacity", "status.devices[].shareID"},
    {"DRADeviceBindingConditions", "status.allocation.devices.results[].bindingConditions"},
    {"DRADeviceBindingConditions", "status.allocation.devices.results[].bindingFailureConditions"}};

bool IsSameDevice(const json::Value& a, const json::Value& b) {
  for (const std::string_view field : {"driver", "pool", "device", "shareID"}) {
    if (a[field].AsString() != b[field].AsString()) return false;
  }
  return true;
}

bool HasDevice(json::Value devices, json::Value device) {
  const auto all = devices.elements();
  return std::any_of(all.begin(), all.end(),
                     [&](const json::Value& one) { return IsSameDevice(one, device); });
}

// Without what is said of devices that have been allocated and are not any more.
json::Value WithoutDeallocated(const Context& ctx, json::Value object, json::Value old) {
  const json::Value allocated = object["status"]["allocation"]["devices"]["results"];
  const json::Value before = old["status"]["allocation"]["devices"]["results"];
  const json::Value devices = object["status"]["devices"];
  json::ArrayBuilder kept(ctx.arena);
  for (const json::Value& device : devices.elements()) {
    if (HasDevice(allocated, device) || !HasDevice(before, device)) kept.Add(device);
  }
  if (kept.size() == devices.size()) return object;
  if (kept.size() == 0) return json::RemovePath(ctx.arena, object, {"status", "devices"});
  return json::SetPath(ctx.arena, object, {"status", "devices"}, kept.Build());
}

class ResourceClaims final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    return ctx.subresource == "status" ? WithoutDeallocated(ctx, object, old) : object;
  }
};

}  // namespace

void AddResourceClaimStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "resourceclaims",
             .validate = &ValidateClaim,
             .validate_update = &ValidateClaimUpdate,
             .judged_in = "v1",
             .traits = {.returns_deleted = true, .status_keeps = StatusKeeps::kMetadata},
             .metadata = {.update = "FU"},
             .disabled = kDisabledOfClaims,
             .make = &Make<ResourceClaims>});
}

}  // namespace portcullis::registry
