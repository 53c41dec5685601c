// SPDX-License-Identifier: Apache-2.0

// DeviceClasses (pkg/apis/resource/validation).

#include "api/quota/pods.h"
#include "registry/devices/device_checks.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMostOfClass = 32;

void ValidateClass(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckDeviceSelectors(ctx, spec["selectors"], path.Child("selectors"), errors);
  if (CheckSize(spec["config"], kMostOfClass, path.Child("config"), errors)) {
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

constexpr DisabledField kDisabledOfClasses[] = {
    {"DRAExtendedResource", "spec.extendedResourceName"}};

}  // namespace

void AddDeviceClassStrategy(KindTable& table) {
  table.Add({.group = "resource.k8s.io",
             .resource = "deviceclasses",
             .validate = &ValidateClass,
             .traits = {.counts_generation = true,
                        .returns_deleted = true,
                        .names = NameStyle::kDeclaredSubdomain},
             .metadata = {.update = "FU"},
             .disabled = kDisabledOfClasses});
}

}  // namespace portcullis::registry
