// SPDX-License-Identifier: Apache-2.0

// PodTemplates (pkg/apis/core/validation).

#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/template_warnings.h"

namespace portcullis::registry {
namespace {

void ValidatePodTemplateObject(const Context& ctx, json::Value object, FieldErrors& errors) {
  ValidatePodTemplate(ctx, object["template"], {}, FieldPath("template"), errors);
}

void ValidatePodTemplateObjectUpdate(const Context& ctx, json::Value object, json::Value old,
                                     FieldErrors& errors) {
  ValidatePodTemplate(ctx, object["template"], old["template"], FieldPath("template"), errors);
}

}  // namespace

void AddPodTemplateStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "podtemplates",
             .validate = &ValidatePodTemplateObject,
             .validate_update = &ValidatePodTemplateObjectUpdate,
             .warn = &WarnOfTemplateOnly,
             .traits = {.counts_generation = true, .returns_deleted = true},
             .pod_spec = "template.spec"});
}

}  // namespace portcullis::registry
