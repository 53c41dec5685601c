// SPDX-License-Identifier: Apache-2.0

// IngressClasses (pkg/apis/networking/validation).

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kIngressClassRules[] = {
    {"spec.controller", FieldRuleKind::kImmutable},
};

void ValidateIngressClass(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view controller = spec["controller"].AsString();
  if (controller.size() > 250) errors.push_back(api::TooLong(path.Child("controller"), 250));
  CheckDomainPrefixedPath(controller, path.Child("controller"), errors);
  const json::Value parameters = spec["parameters"];
  if (parameters.is_null()) return;
  const FieldPath at = path.Child("parameters");
  if (const json::Value group = parameters["apiGroup"]; !group.is_null()) {
    CheckSubdomain(group.AsString(), at.Child("apiGroup"), errors);
  }
  for (const std::string_view field : {"kind", "name"}) {
    if (!RequireField(parameters, field, at, errors)) continue;
    const std::string_view text = parameters[field].AsString();
    AddInvalid(at.Child(field), text, IsPathSegmentName(text, false), errors);
  }
  const json::Value scope = parameters["scope"];
  if (scope.is_null()) {
    errors.push_back(api::Required(at.Child("scope"), ""));
    return;
  }
  CheckOneOf(scope, at.Child("scope"), {"Cluster", "Namespace"}, errors, GoType::kString);
  const json::Value name_space = parameters["namespace"];
  if (scope.AsString() == "Namespace" && name_space.is_null()) {
    errors.push_back(
        api::Required(at.Child("namespace"), "`parameters.scope` is set to 'Namespace'"));
  } else if (scope.AsString() == "Namespace") {
    CheckDnsLabel(name_space.AsString(), at.Child("namespace"), errors);
  } else if (scope.AsString() == "Cluster" && !name_space.is_null()) {
    errors.push_back(
        api::Forbidden(at.Child("namespace"), "`parameters.scope` is set to 'Cluster'"));
  }
}

}  // namespace

void AddIngressClassStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "ingressclasses",
             .validate = &ValidateIngressClass,
             .rules = kIngressClassRules,
             .rules_between = true,
             .traits = {.counts_generation = true},
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry
