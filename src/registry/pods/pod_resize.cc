// SPDX-License-Identifier: Apache-2.0

// The resize subresource of pods changes cpu and memory of what runs, and nothing else
// (pkg/apis/core/validation, ValidatePodResize).

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

json::Value WithOldResources(json::Arena& arena, json::Value container, json::Value old) {
  const json::Value resources = WithOldAmounts(arena, container["resources"], old["resources"]);
  return json::With(arena, container, "resources", json::Without(arena, resources, "claims"));
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

void CheckNothingRemoved(json::Value now, json::Value before, const FieldPath& path,
                         FieldErrors& errors) {
  for (const std::string_view amounts : {"requests", "limits"}) {
    if (!Removes(now[amounts], before[amounts])) continue;
    errors.push_back(api::Forbidden(path.Child(amounts),
                                    base::StrCat("resource ", amounts, " cannot be removed")));
  }
}

// These three return the container with the old amounts.
json::Value CheckContainer(json::Arena& arena, json::Value now, json::Value before,
                           const FieldPath& spec, FieldErrors& errors) {
  const json::Value munged = WithOldResources(arena, now, before);
  if (!(munged == before)) {
    errors.push_back(api::Forbidden(spec, "only cpu and memory resources are mutable"));
  }
  return munged;
}

json::Value CheckInitContainer(json::Arena& arena, json::Value now, json::Value before,
                               const FieldPath& path, FieldErrors& errors) {
  const json::Value munged = WithOldResources(arena, now, before);
  if (!(munged == before)) {
    errors.push_back(api::Forbidden(
        path, "only cpu and memory resources for init or sidecar containers are mutable"));
  }
  if (now == before || IsSidecar(now)) return munged;
  for (const json::Value& policy : now["resizePolicy"].elements()) {
    if (!IsRestartedByResize(policy)) continue;
    errors.push_back(api::Forbidden(path,
                                    "non-sidecar init containers with a resize policy of "
                                    "RestartContainer cannot be resized"));
  }
  return munged;
}

json::Value CheckNotResized(json::Value now, json::Value before, FieldErrors& errors) {
  if (!(now == before)) {
    errors.push_back(api::Forbidden(FieldPath("spec"),
                                    "resources for non-sidecar init containers are immutable"));
  }
  return now;
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
  const bool all_init = ctx.release->GateEnabled("InPlacePodVerticalScalingInitContainers");
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (std::size_t i = 0; i < old["spec"][list].size(); ++i) {
      const json::Value before = old["spec"][list][i];
      if (list == "initContainers" && !all_init && !IsSidecar(before)) continue;
      CheckNothingRemoved(spec[list][i]["resources"], before["resources"],
                          path.Child(list).Index(i).Child("resources"), errors);
    }
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (old["spec"][list].empty()) continue;
    json::ArrayBuilder munged(ctx.arena);
    for (std::size_t i = 0; i < old["spec"][list].size(); ++i) {
      const json::Value now = spec[list][i];
      const json::Value before = old["spec"][list][i];
      munged.Add(list == "containers" ? CheckContainer(ctx.arena, now, before, path, errors)
                 : all_init || IsSidecar(now)
                     ? CheckInitContainer(ctx.arena, now, before, path.Child(list).Index(i), errors)
                     : CheckNotResized(now, before, errors));
    }
    spec = json::With(ctx.arena, spec, list, munged.Build());
  }
  if (errors.empty() && !(spec == old["spec"])) {
    errors.push_back(api::Forbidden(path, "only cpu and memory resources are mutable"));
  }
}

}  // namespace portcullis::registry
