// SPDX-License-Identifier: Apache-2.0

// ResourceClaims (pkg/apis/resource/validation).

#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostConsumers = 256;

void ValidateClaim(const Context&, json::Value object, FieldErrors& errors) {
  CheckDeviceClaim(object["spec"]["devices"], FieldPath("spec", "devices"), errors);
}

// Who uses the claim, and what it was given.
void CheckClaimStatus(const Context& ctx, json::Value object, json::Value old,
                      FieldErrors& errors) {
  const json::Value status = object["status"];
  const json::Value consumers = status["reservedFor"];
  const FieldPath path("status", "reservedFor");
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
  if (!consumers.empty() && allocation.is_null()) {
    errors.push_back(api::Forbidden(path, "may not be specified when `allocated` is not set"));
  }
  if (!allocation.is_null() && !old["status"]["allocation"].is_null()) {
    CheckUnchanged(ctx, "io.k8s.api.resource.v1.AllocationResult", allocation,
                   old["status"]["allocation"], FieldPath("status", "allocation"), errors);
  }
}

void ValidateClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckClaimStatus(ctx, object, old, errors);
  CheckUnchanged(ctx, "io.k8s.api.resource.v1.ResourceClaimSpec", object["spec"], old["spec"],
                 FieldPath("spec"), errors);
}

}  // namespace

void AddResourceClaimStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "resourceclaims",
             .validate = &ValidateClaim,
             .validate_update = &ValidateClaimUpdate,
             .judged_in = "v1",
             .traits = {.status_keeps_metadata = true},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry
