// SPDX-License-Identifier: Apache-2.0

// Roles and ClusterRoles (pkg/apis/rbac/validation).

#include "api/selector/label_selector.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

void CheckRule(json::Value rule, const FieldPath& path, bool namespaced, FieldErrors& errors) {
  if (rule["verbs"].empty()) {
    errors.push_back(api::Required(path.Child("verbs"), "verbs must contain at least one value"));
  }
  if (!rule["nonResourceURLs"].empty()) {
    if (namespaced) {
      errors.push_back(api::Invalid(path.Child("nonResourceURLs"), rule["nonResourceURLs"],
                                    "namespaced rules cannot apply to non-resource URLs"));
    }
    if (!rule["apiGroups"].empty() || !rule["resources"].empty() ||
        !rule["resourceNames"].empty()) {
      errors.push_back(
          api::Invalid(path.Child("nonResourceURLs"), rule["nonResourceURLs"],
                       "rules cannot apply to both regular resources and non-resource URLs"));
    }
    return;
  }
  if (rule["apiGroups"].empty()) {
    errors.push_back(api::Required(path.Child("apiGroups"),
                                   "resource rules must supply at least one api group"));
  }
  if (rule["resources"].empty()) {
    errors.push_back(
        api::Required(path.Child("resources"), "resource rules must supply at least one resource"));
  }
}

void CheckRules(json::Value object, bool namespaced, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& rule : object["rules"].elements()) {
    CheckRule(rule, FieldPath("rules").Index(index++), namespaced, errors);
  }
}

void ValidateRole(const Context&, json::Value object, FieldErrors& errors) {
  CheckRules(object, true, errors);
}

void ValidateClusterRole(const Context&, json::Value object, FieldErrors& errors) {
  CheckRules(object, false, errors);
  const json::Value aggregation = object["aggregationRule"];
  if (aggregation.is_null()) return;
  const FieldPath path("aggregationRule", "clusterRoleSelectors");
  if (aggregation["clusterRoleSelectors"].empty()) {
    errors.push_back(api::Required(
        path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  std::size_t index = 0;
  for (const json::Value& selector : aggregation["clusterRoleSelectors"].elements()) {
    const FieldPath at = path.Index(index++);
    CheckLabelSelector(selector, at, errors);
    if (api::LabelSelector::FromJson(selector).ok()) continue;
    errors.push_back(api::Invalid(at, json::Value(), "invalid label selector."));
  }
}

}  // namespace

void AddRoleStrategy(KindTable& table) {
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "clusterroles",
             .validate = &ValidateClusterRole,
             .validate_between = &AsNew<&ValidateClusterRole>,
             .traits = {.created_by_put = true, .names = NameStyle::kWholePathSegment},
             .metadata = {.update = "FU"}});
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "roles",
             .validate = &ValidateRole,
             .validate_between = &AsNew<&ValidateRole>,
             .traits = {.created_by_put = true, .names = NameStyle::kWholePathSegment},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry
