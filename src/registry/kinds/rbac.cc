// Roles and bindings (pkg/apis/rbac/validation).

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

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

void CheckSubject(json::Value subject, const FieldPath& path, bool namespaced,
                  FieldErrors& errors) {
  const std::string_view name = subject["name"].AsString();
  const std::string_view kind = subject["kind"].AsString();
  const std::string_view group = subject["apiGroup"].AsString();
  if (name.empty()) errors.push_back(api::Required(path.Child("name"), ""));
  if (kind == "ServiceAccount") {
    if (!name.empty()) CheckSubdomain(name, path.Child("name"), errors);
    if (!group.empty()) {
      errors.push_back(api::NotSupported(path.Child("apiGroup"), group, {""}));
    }
    if (!namespaced && subject["namespace"].AsString().empty()) {
      errors.push_back(api::Required(path.Child("namespace"), ""));
    }
  } else if (kind == "User" || kind == "Group") {
    if (group != kGroup) {
      errors.push_back(api::NotSupported(path.Child("apiGroup"), group, {kGroup}));
    }
  } else {
    errors.push_back(
        api::NotSupported(path.Child("kind"), kind, {"ServiceAccount", "User", "Group"}));
  }
}

// The internal Go type has no JSON tags.
std::string RoleRefText(json::Value ref) {
  return StructJson({{"APIGroup", Quoted(ref["apiGroup"].AsString())},
                     {"Kind", Quoted(ref["kind"].AsString())},
                     {"Name", Quoted(ref["name"].AsString())}});
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
    CheckLabelSelector(selector, path.Index(index++), errors);
  }
}

void ValidateRoleBinding(const Context& ctx, json::Value object, FieldErrors& errors) {
  const bool namespaced = ctx.resource.resource == "rolebindings";
  const json::Value ref = object["roleRef"];
  const FieldPath path("roleRef");
  if (ref["apiGroup"].AsString() != kGroup) {
    errors.push_back(
        api::NotSupported(path.Child("apiGroup"), ref["apiGroup"].AsString(), {kGroup}));
  }
  const std::string_view kind = ref["kind"].AsString();
  if (namespaced) {
    if (kind != "Role" && kind != "ClusterRole") {
      errors.push_back(api::NotSupported(path.Child("kind"), kind, {"Role", "ClusterRole"}));
    }
  } else if (kind != "ClusterRole") {
    errors.push_back(api::NotSupported(path.Child("kind"), kind, {"ClusterRole"}));
  }
  const std::string_view name = ref["name"].AsString();
  if (name.empty()) {
    errors.push_back(api::Required(path.Child("name"), ""));
  } else {
    AddInvalid(path.Child("name"), name, IsPathSegmentName(name, false), errors);
  }
  std::size_t index = 0;
  for (const json::Value& subject : object["subjects"].elements()) {
    CheckSubject(subject, FieldPath("subjects").Index(index++), namespaced, errors);
  }
}

void ValidateRoleBindingUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  ValidateRoleBinding(ctx, object, errors);
  if (!(object["roleRef"] == old["roleRef"])) {
    errors.push_back(api::Invalid(FieldPath("roleRef"),
                                  api::BadValue::Raw(RoleRefText(object["roleRef"])),
                                  "cannot change roleRef"));
  }
}

}  // namespace

void AddRbac(KindTable& table) {
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "clusterrolebindings",
             .validate = &ValidateRoleBinding,
             .validate_update = &ValidateRoleBindingUpdate,
             .traits = {.created_by_put = true, .names = NameStyle::kPathSegment}});
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "clusterroles",
             .validate = &ValidateClusterRole,
             .traits = {.created_by_put = true, .names = NameStyle::kPathSegment}});
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "rolebindings",
             .validate = &ValidateRoleBinding,
             .validate_update = &ValidateRoleBindingUpdate,
             .traits = {.created_by_put = true, .names = NameStyle::kPathSegment}});
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "roles",
             .validate = &ValidateRole,
             .traits = {.created_by_put = true, .names = NameStyle::kPathSegment}});
}

}  // namespace portcullis::registry
