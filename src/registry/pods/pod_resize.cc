// SPDX-License-Identifier: Apache-2.0

// The resize subresource of pods changes cpu and memory of what runs, and nothing else
// (pkg/apis/core/validation, ValidatePodResize; gates InPlacePodLevelResourcesVerticalScaling and
// InPlacePodVerticalScalingInitContainers, both on).

#include "api/quota/pod_resources.h"
#include "base/strings.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kLists[] = {"limits", "requests"};

// A node that does not tell the resources of what it runs cannot change them.
bool NodeCanResize(json::Value pod) {
  for (const json::Value& status : pod["status"]["containerStatuses"].elements()) {
    if (status["state"].Has("running")) return status.Has("resources");
  }
  return true;
}

bool Removes(json::Value now, json::Value before) {
  for (const json::Member& amount : before.members()) {
    if (!now.Has(amount.name())) return true;
  }
  return false;
}

// `resources` with the cpu and memory of `old`.
json::Value WithOldAmounts(json::Arena& arena, json::Value resources, json::Value old) {
  for (const std::string_view list : kLists) {
    json::ObjectBuilder amounts(arena, resources[list]);
    for (const std::string_view name : {"cpu", "memory"}) {
      const json::Value* before = old[list].Find(name);
      if (before != nullptr) {
        amounts.Set(name, *before);
      } else {
        amounts.Remove(name);
      }
    }
    resources = amounts.empty() ? json::Without(arena, resources, list)
                                : json::With(arena, resources, list, amounts.Build());
  }
  return resources;
}

bool HasAmounts(json::Value pod) {
  const json::Value resources = pod["spec"]["resources"];
  return !resources["requests"].empty() || !resources["limits"].empty();
}

// Pod-level resources. Returns the spec with the old ones.
json::Value CheckPodLevel(json::Arena& arena, json::Value spec, json::Value object, json::Value old,
                          FieldErrors& errors) {
  if (!HasAmounts(object) && !HasAmounts(old)) return spec;
  const FieldPath path("spec", "resources");
  const json::Value before = old["spec"]["resources"];
  const json::Value now = object["spec"]["resources"];
  if (!before.is_null() && now.is_null()) {
    errors.push_back(api::Forbidden(path, "pod-level resources cannot be removed"));
    return spec;
  }
  for (const std::string_view list : {"requests", "limits"}) {
    if (!Removes(now[list], before[list])) continue;
    errors.push_back(api::Forbidden(
        path.Child(list), base::StrCat("pod-level resource ", list, " cannot be removed")));
  }
  const json::Value munged = WithOldAmounts(arena, now, before);
  if (before.is_null() && munged.empty()) return json::Without(arena, spec, "resources");
  if (!(munged == before)) {
    errors.push_back(api::Forbidden(FieldPath("spec"),
                                    "only cpu and memory resources are mutable at pod-level"));
  }
  return json::With(arena, spec, "resources", munged);
}

bool SameOrder(json::Value spec, json::Value old, FieldErrors& errors) {
  const std::size_t known = errors.size();
  for (const std::string_view list : {"containers", "initContainers"}) {
    const FieldPath path("spec", list);
    if (spec[list].size() != old[list].size()) {
      errors.push_back(
          api::Forbidden(path, base::StrCat(list, " may not be added or removed on resize")));
      continue;
    }
    for (std::size_t i = 0; i < old[list].size(); ++i) {
      if (spec[list][i]["name"] == old[list][i]["name"]) continue;
      errors.push_back(
          api::Forbidden(path.Index(i).Child("name"),
                         base::StrCat(list, " may not be renamed or reordered on resize")));
    }
  }
  return errors.size() == known;
}

// Not a pod whose client has given it a class that does not exist.
bool HasQos(json::Value pod, api::quota::QosClass qos) {
  const std::string_view text = pod["status"]["qosClass"].AsString();
  const bool known =
      text.empty() || text == "Guaranteed" || text == "Burstable" || text == "BestEffort";
  return known && api::quota::QosOf(pod) == qos;
}

}  // namespace

void ValidatePodResize(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (old["metadata"]["annotations"].Has(kMirrorAnnotation)) {
    errors = {api::Forbidden(FieldPath("[]"), "static pods cannot be resized")};
    return;
  }
  if (old["spec"]["os"]["name"].AsString() == "windows") {
    errors = {api::Forbidden(FieldPath("[]"), "windows pods cannot be resized")};
    return;
  }
  ValidatePodContent(ctx, object, old, errors);
  const FieldPath path("spec");
  if (!HasQos(old, api::quota::QosOf(json::Without(ctx.arena, object, "status")))) {
    errors.push_back(api::Invalid(path, object["status"]["qosClass"].AsString(),
                                  "Pod QOS Class may not change as a result of resizing"));
  }
  if (!NodeCanResize(old)) {
    errors.push_back(api::Forbidden(path, "Pod running on node without support for resize"));
  }
  json::Value spec = CheckPodLevel(ctx.arena, object["spec"], object, old, errors);
  if (!SameOrder(spec, old["spec"], errors)) return;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (std::size_t i = 0; i < old["spec"][list].size(); ++i) {
      const FieldPath at = path.Child(list).Index(i).Child("resources");
      const json::Value before = old["spec"][list][i]["resources"];
      const json::Value now = spec[list][i]["resources"];
      for (const std::string_view amounts : {"requests", "limits"}) {
        if (!Removes(now[amounts], before[amounts])) continue;
        errors.push_back(api::Forbidden(at.Child(amounts),
                                        base::StrCat("resource ", amounts, " cannot be removed")));
      }
    }
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::Value before = old["spec"][list];
    if (before.empty()) continue;
    json::ArrayBuilder munged(ctx.arena);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const json::Value resources =
          WithOldAmounts(ctx.arena, spec[list][i]["resources"], before[i]["resources"]);
      const json::Value container = json::With(ctx.arena, spec[list][i], "resources",
                                               json::Without(ctx.arena, resources, "claims"));
      munged.Add(container);
      if (container == before[i]) continue;
      errors.push_back(api::Forbidden(
          path, list == "containers"
                    ? "only cpu and memory resources are mutable"
                    : "only cpu and memory resources for sidecar containers are mutable"));
    }
    spec = json::With(ctx.arena, spec, list, munged.Build());
  }
  if (errors.empty() && !(spec == old["spec"])) {
    errors.push_back(api::Forbidden(path, "only cpu and memory resources are mutable"));
  }
}

}  // namespace portcullis::registry
