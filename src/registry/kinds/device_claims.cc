// Claims on devices, their templates and classes of devices (pkg/apis/resource/validation).

#include "api/quota/pods.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/validation/devices.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::size_t kMostConfigurations = 32;
constexpr std::size_t kMostConsumers = 256;

void CheckUnchanged(const Context& ctx, std::string_view type, json::Value value, json::Value old,
                    const FieldPath& path, FieldErrors& errors) {
  if (value == old) return;
  errors.push_back(api::Invalid(path, GoValue(ctx, type, value), "field is immutable"));
}

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

void ValidateTemplate(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckLabels(spec["metadata"]["labels"], FieldPath("spec", "metadata", "labels"), errors);
  CheckAnnotations(spec["metadata"]["annotations"], FieldPath("spec", "metadata", "annotations"),
                   errors);
  CheckDeviceClaim(spec["spec"]["devices"], FieldPath("spec", "spec", "devices"), errors);
}

void ValidateTemplateUpdate(const Context& ctx, json::Value object, json::Value old,
                            FieldErrors& errors) {
  CheckUnchanged(ctx, "io.k8s.api.resource.v1.ResourceClaimTemplateSpec", object["spec"],
                 old["spec"], FieldPath("spec"), errors);
}

void ValidateClass(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckDeviceSelectors(spec["selectors"], path.Child("selectors"), errors);
  if (CheckSize(spec["config"], kMostConfigurations, path.Child("config"), errors)) {
    std::size_t index = 0;
    for (const json::Value& config : spec["config"].elements()) {
      CheckDeviceConfiguration(config, path.Child("config").Index(index++), errors);
    }
  }
  const json::Value name = spec["extendedResourceName"];
  if (!name.is_null() && !api::quota::IsExtendedResourceName(name.AsString())) {
    errors.push_back(api::Invalid(path.Child("extendedResourceName"), name,
                                  "must be a valid extended resource name"));
  }
}

}  // namespace

void AddDeviceClaims(KindTable& table) {
  table.Add({.group = kGroup,
             .resource = "deviceclasses",
             .validate = &ValidateClass,
             .traits = {.counts_generation = true}});
  table.Add({.group = kGroup,
             .resource = "resourceclaims",
             .validate = &ValidateClaim,
             .validate_update = &ValidateClaimUpdate,
             .traits = {.status_keeps_metadata = true}});
  table.Add({.group = kGroup,
             .resource = "resourceclaimtemplates",
             .validate = &ValidateTemplate,
             .validate_update = &ValidateTemplateUpdate});
}

}  // namespace portcullis::registry
