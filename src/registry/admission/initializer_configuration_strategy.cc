// SPDX-License-Identifier: Apache-2.0

// InitializerConfigurations (admissionregistration.k8s.io/v1alpha1 of Kubernetes 1.7 to 1.13,
// docs/legacy.md).

#include "registry/admission/webhook_configuration_validation.h"
#include "registry/kind_table.h"
#include "registry/validation/initializers.h"

namespace portcullis::registry {
namespace {

void ValidateInitializers(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& initializer : object["initializers"].elements()) {
    const FieldPath path = FieldPath("initializers").Index(index++);
    CheckFullyQualifiedName(initializer["name"].AsString(), path.Child("name"), *ctx.release,
                            errors);
    std::size_t rule_index = 0;
    for (const json::Value& rule : initializer["rules"].elements()) {
      ValidateResourceRule(rule, path.Child("rules").Index(rule_index++), errors);
    }
    const json::Value policy = initializer["failurePolicy"];
    if (!policy.is_null() && policy.AsString() != "Ignore") {
      errors.push_back(
          api::NotSupported(path.Child("failurePolicy"), policy.AsString(), {"Ignore"}));
    }
  }
}

}  // namespace

void AddInitializerConfigurationStrategy(KindTable& table) {
  table.Add({.group = "admissionregistration.k8s.io",
             .resource = "initializerconfigurations",
             .validate = &ValidateInitializers,
             .traits = {.counts_generation = true, .needs_version = true}});
}

}  // namespace portcullis::registry
