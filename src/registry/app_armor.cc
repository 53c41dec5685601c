#include "registry/app_armor.h"

#include <string>
#include <string_view>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kPrefix = "container.apparmor.security.beta.kubernetes.io/";
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

json::Value ReadForContainer(json::Arena& arena, json::Value pod, std::string_view list,
                             std::size_t index) {
  const json::Value containers = pod["spec"][list];
  const json::Value container = containers[index];
  const json::Value own = container["securityContext"]["appArmorProfile"];
  const json::Value of_pod = pod["spec"]["securityContext"]["appArmorProfile"];
  const std::string key = base::StrCat(kPrefix, container["name"].AsString());
  const json::Value* annotation = pod["metadata"]["annotations"].Find(key);
  if (annotation == nullptr || !own.is_null()) return pod;
  const json::Value profile = ProfileOf(arena, annotation->AsString());
  if (profile.is_null() || profile == of_pod) return pod;
  const json::Value changed =
      json::SetPath(arena, container, {"securityContext", "appArmorProfile"}, profile);
  return json::SetPath(arena, pod, {"spec", list},
                       json::WithElement(arena, containers, index, changed));
}

}  // namespace

json::Value ReadAppArmorAnnotations(json::Arena& arena, json::Value pod) {
  if (pod["spec"]["os"]["name"].AsString() == "windows") return pod;
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    const std::size_t count = pod["spec"][list].size();
    for (std::size_t i = 0; i < count; ++i) pod = ReadForContainer(arena, pod, list, i);
  }
  return pod;
}

}  // namespace portcullis::registry
