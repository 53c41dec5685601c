// SPDX-License-Identifier: Apache-2.0

// VolumeAttributesClasses (pkg/apis/storage/validation).

#include "registry/kind_table.h"
#include "registry/storage/class_checks.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kAttributesClassRules[] = {
    {"driverName", FieldRuleKind::kFrozen, "updates to driverName are forbidden."},
    {"parameters", FieldRuleKind::kFrozen, "updates to parameters are forbidden."},
};

void ValidateVolumeAttributesClass(const Context&, json::Value object, FieldErrors& errors) {
  CheckProvisioner(object["driverName"], FieldPath("driverName"), errors);
  CheckParameters(object["parameters"], false, FieldPath("parameters"), errors);
}

}  // namespace

void AddVolumeAttributesClassStrategy(KindTable& table) {
  table.Add({.group = "storage.k8s.io",
             .resource = "volumeattributesclasses",
             .validate = &ValidateVolumeAttributesClass,
             .rules = kAttributesClassRules,
             .rules_between = true,
             .traits = {.returns_deleted = true},
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry
