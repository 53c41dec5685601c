// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/app_armor.h"

#include <string>
#include <string_view>

#include "api/field_path.h"
#include "base/strings.h"
#include "json/edit.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kLocalhost = "localhost/";

json::Value MakeProfile(json::Arena& arena, std::string_view type) {
  return json::MakeObject(arena, {{"type", json::Value::StringView(type)}});
}

// Null for an annotation that says nothing known.
json::Value ProfileOf(json::Arena& arena, std::string_view annotation) {
  if (annotation == "runtime/default") return MakeProfile(arena, "RuntimeDefault");
  if (annotation == "unconfined") return MakeProfile(arena, "Unconfined");
  if (!annotation.starts_with(kLocalhost) || annotation.size() == kLocalhost.size()) return {};
  return json::With(arena, MakeProfile(arena, "Localhost"), "localhostProfile",
                    json::String(arena, annotation.substr(kLocalhost.size())));
}

// Whether the field may be this; what may not is left to the annotation.
bool IsValid(json::Value profile) {
  api::FieldErrors errors;
  CheckAppArmor(profile, api::FieldPath("appArmorProfile"), errors);
  return errors.empty();
}

json::Value ReadForContainer(json::Arena& arena, json::Value pod, json::Value container,
                             std::vector<std::string>* warnings) {
  const json::Value own = container["securityContext"]["appArmorProfile"];
  const json::Value of_pod = pod["spec"]["securityContext"]["appArmorProfile"];
  const std::string key = base::StrCat(kAppArmorAnnotation, container["name"].AsString());
  const json::Value* annotation = pod["metadata"]["annotations"].Find(key);
  if (annotation == nullptr || !own.is_null()) return container;
  json::Value profile = ProfileOf(arena, annotation->AsString());
  if (!IsValid(profile)) profile = {};
  if (!profile.is_null() && profile == of_pod) return container;
  if (warnings != nullptr) {
    warnings->push_back(
        AppArmorAnnotationWarning(api::FieldPath("metadata", "annotations").Key(key).ToString()));
  }
  if (profile.is_null()) return container;
  return json::SetPath(arena, container, {"securityContext", "appArmorProfile"}, profile);
}

}  // namespace

json::Value ReadAppArmorAnnotations(json::Arena& arena, json::Value pod,
                                    std::vector<std::string>* warnings) {
  if (pod["metadata"]["annotations"].empty()) return pod;
  if (pod["spec"]["os"]["name"].AsString() == "windows") return pod;
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    const json::Value before = pod["spec"][list];
    const json::Value after = json::EditElements(arena, before, [&](json::Value container) {
      return ReadForContainer(arena, pod, container, warnings);
    });
    if (!after.IsSameAs(before)) pod = json::SetPath(arena, pod, {"spec", list}, after);
  }
  return pod;
}

bool SaysAppArmorProfile(std::string_view annotation, json::Value profile) {
  json::Arena arena;
  return !profile.is_null() && ProfileOf(arena, annotation) == profile;
}

std::string AppArmorAnnotationWarning(std::string_view annotation) {
  return base::StrCat(annotation,
                      ": deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

}  // namespace portcullis::registry
