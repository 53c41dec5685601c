// SPDX-License-Identifier: Apache-2.0

// RoleBindings and ClusterRoleBindings (pkg/apis/rbac/validation).

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kGroup = "rbac.authorization.k8s.io";

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

void CheckRoleRefChange(const Context&, json::Value object, json::Value old, FieldErrors& errors) {
  if (!(object["roleRef"] == old["roleRef"])) {
    errors.push_back(api::Invalid(FieldPath("roleRef"),
                                  api::BadValue::Raw(RoleRefText(object["roleRef"])),
                                  "cannot change roleRef"));
  }
}

}  // namespace

void AddRoleBindingStrategy(KindTable& table) {
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "clusterrolebindings",
             .validate = &ValidateRoleBinding,
             .validate_between = &AsNew<&ValidateRoleBinding>,
             .validate_update = &CheckRoleRefChange,
             .traits = {.created_by_put = true, .names = NameStyle::kWholePathSegment},
             .metadata = {.update = "FU"}});
  table.Add({.group = "rbac.authorization.k8s.io",
             .resource = "rolebindings",
             .validate = &ValidateRoleBinding,
             .validate_between = &AsNew<&ValidateRoleBinding>,
             .validate_update = &CheckRoleRefChange,
             .traits = {.created_by_put = true, .names = NameStyle::kWholePathSegment},
             .metadata = {.update = "FU"}});
}

}  // namespace portcullis::registry
