// SPDX-License-Identifier: Apache-2.0

// RuntimeClasses (pkg/apis/node/validation).

#include <set>
#include <tuple>

#include "base/strings.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/pod_warnings.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRuntimeClassRules[] = {
    {"handler", FieldRuleKind::kImmutable},
};

// What two tolerations may not have in common.
using TolerationKey =
    std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

TolerationKey KeyOf(json::Value toleration) {
  return {toleration["key"].AsString(), toleration["operator"].AsString(),
          toleration["value"].AsString(), toleration["effect"].AsString()};
}

// As Go prints the internal type.
std::string TolerationJson(json::Value toleration) {
  return StructJson({{"Key", Quoted(toleration["key"].AsString())},
                     {"Operator", Quoted(toleration["operator"].AsString())},
                     {"Value", Quoted(toleration["value"].AsString())},
                     {"Effect", Quoted(toleration["effect"].AsString())},
                     {"TolerationSeconds", Json(toleration["tolerationSeconds"])}});
}

void ValidateRuntimeClass(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (RequireField(object, "handler", FieldPath(), errors)) {
    CheckDnsLabel(object["handler"].AsString(), FieldPath("handler"), errors);
  }
  if (const json::Value overhead = object["overhead"]; overhead.is_object()) {
    CheckContainerResources(json::MakeObject(ctx.arena, {{"limits", overhead["podFixed"]}}), {},
                            FieldPath("overhead"), errors);
  }
  const json::Value scheduling = object["scheduling"];
  const FieldPath path("scheduling");
  CheckLabels(scheduling["nodeSelector"], path.Child("nodeSelector"), errors);
  const json::Value tolerations = scheduling["tolerations"];
  CheckTolerations(tolerations, path.Child("tolerations"), errors);
  std::set<TolerationKey> seen;
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    if (seen.insert(KeyOf(tolerations[i])).second) continue;
    errors.push_back(api::Duplicate(path.Child("tolerations").Index(i),
                                    api::BadValue::Raw(TolerationJson(tolerations[i]))));
  }
}

void WarnOfRuntimeClass(const Context&, json::Value object, json::Value,
                        std::vector<std::string>& warnings) {
  for (const json::Member* label : json::MembersByName(object["scheduling"]["nodeSelector"])) {
    const std::string_view text = DeprecatedNodeLabel(label->name());
    if (!text.empty()) warnings.push_back(base::StrCat("scheduling.nodeSelector: ", text));
  }
}

}  // namespace

void AddRuntimeClassStrategy(KindTable& table) {
  table.Add({.group = "node.k8s.io",
             .resource = "runtimeclasses",
             .validate = &ValidateRuntimeClass,
             .validate_between = &AsNew<&ValidateRuntimeClass>,
             .rules = kRuntimeClassRules,
             .warn = &WarnOfRuntimeClass,
             .traits = {.created_by_put = true, .needs_version = true, .free_finalizers = true},
             .metadata = {.update = "fu"}});
}

}  // namespace portcullis::registry
