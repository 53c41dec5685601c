// SPDX-License-Identifier: Apache-2.0

// ExternalAdmissionHookConfigurations (admissionregistration.k8s.io/v1alpha1 of Kubernetes 1.7 and
// 1.8, docs/legacy.md). failurePolicy Fail is accepted, as the documents have it.

#include "registry/admission/webhook_configuration_validation.h"
#include "registry/kind_table.h"
#include "registry/validation/initializers.h"

namespace portcullis::registry {
namespace {

void ValidateHooks(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& hook : object["externalAdmissionHooks"].elements()) {
    const FieldPath path = FieldPath("externalAdmissionHooks").Index(index++);
    CheckFullyQualifiedName(hook["name"].AsString(), path.Child("name"), *ctx.release, errors);
    std::size_t rule_index = 0;
    for (const json::Value& rule : hook["rules"].elements()) {
      ValidateAdmissionRule(rule, path.Child("rules").Index(rule_index++), errors);
    }
    const json::Value policy = hook["failurePolicy"];
    if (policy.is_null()) continue;
    if (policy.AsString() != "Ignore" && policy.AsString() != "Fail") {
      errors.push_back(
          api::NotSupported(path.Child("failurePolicy"), policy.AsString(), {"Fail", "Ignore"}));
    }
  }
}

}  // namespace

void AddExternalAdmissionHookConfigurationStrategy(KindTable& table) {
  table.Add({.group = "admissionregistration.k8s.io",
             .resource = "externaladmissionhookconfigurations",
             .validate = &ValidateHooks,
             .traits = {.counts_generation = true, .needs_version = true}});
}

}  // namespace portcullis::registry
