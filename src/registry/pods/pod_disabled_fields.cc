// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/pod_disabled_fields.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/strings.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kContainerLists[] = {"containers", "initContainers",
                                                "ephemeralContainers"};

constexpr DisabledField kOfPods[] = {
    {"ClusterTrustBundleProjection", "volumes[].projected.sources[].clusterTrustBundle"},
    {"PodCertificateRequest", "volumes[].projected.sources[].podCertificate"},
    {"GenericWorkload", "schedulingGroup"},
    {"ContainerStopSignals", "containers[].lifecycle.stopSignal", true},
    {"ContainerStopSignals", "initContainers[].lifecycle.stopSignal", true},
    {"ContainerStopSignals", "ephemeralContainers[].lifecycle.stopSignal", true},
    {"UserNamespacesSupport", "hostUsers"},
    {"SupplementalGroupsPolicy", "securityContext.supplementalGroupsPolicy"},
    {"SELinuxChangePolicy", "securityContext.seLinuxChangePolicy"},
    {"PodLevelResources", "resources"},
    {"MatchLabelKeysInPodTopologySpread", "topologySpreadConstraints[].matchLabelKeys"},
    {"DynamicResourceAllocation", "resourceClaims"},
    {"DynamicResourceAllocation", "containers[].resources.claims"},
    {"DynamicResourceAllocation", "initContainers[].resources.claims"},
    {"DynamicResourceAllocation", "ephemeralContainers[].resources.claims"},
    {"ContainerRestartRules", "containers[].restartPolicy"},
    {"ContainerRestartRules", "containers[].restartPolicyRules"},
    {"ContainerRestartRules", "initContainers[].restartPolicy", false, "Always"},
    {"ContainerRestartRules", "initContainers[].restartPolicyRules"},
    {"ContainerRestartRules", "ephemeralContainers[].restartPolicy"},
    {"ContainerRestartRules", "ephemeralContainers[].restartPolicyRules"},
    {"HostnameOverride", "hostnameOverride"},
    {"EnvFiles", "containers[].env[].valueFrom.fileKeyRef"},
    {"EnvFiles", "initContainers[].env[].valueFrom.fileKeyRef"},
    {"EnvFiles", "ephemeralContainers[].env[].valueFrom.fileKeyRef"},
    {"InPlacePodVerticalScaling", "containers[].resizePolicy"},
    {"InPlacePodVerticalScaling", "initContainers[].resizePolicy"},
    {"InPlacePodVerticalScaling", "ephemeralContainers[].resizePolicy"},
    {"RecursiveReadOnlyMounts", "containers[].volumeMounts[].recursiveReadOnly"},
    {"RecursiveReadOnlyMounts", "initContainers[].volumeMounts[].recursiveReadOnly"},
    {"RecursiveReadOnlyMounts", "ephemeralContainers[].volumeMounts[].recursiveReadOnly"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].matchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[].mismatchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm."
     "matchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm."
     "mismatchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].matchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[].mismatchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm."
     "matchLabelKeys"},
    {"MatchLabelKeysInPodAffinity",
     "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm."
     "mismatchLabelKeys"},
};

constexpr DisabledField kOfStatus[] = {
    {"DRANodeAllocatableResources", "nodeAllocatableResourceClaimStatuses"},
    {"ImageVolumeWithDigest", "containerStatuses[].volumeMounts[].volumeStatus"},
    {"ImageVolumeWithDigest", "initContainerStatuses[].volumeMounts[].volumeStatus"},
    {"ImageVolumeWithDigest", "ephemeralContainerStatuses[].volumeMounts[].volumeStatus"},
    {"InPlacePodLevelResourcesVerticalScaling", "resources"},
    {"InPlacePodLevelResourcesVerticalScaling", "allocatedResources"},
    {"DRAExtendedResource", "extendedResourceClaimStatus"},
    {"ResourceHealthStatus", "containerStatuses[].allocatedResourcesStatus"},
    {"ResourceHealthStatus", "initContainerStatuses[].allocatedResourcesStatus"},
    {"ResourceHealthStatus", "ephemeralContainerStatuses[].allocatedResourcesStatus"},
    {"ResourceHealthStatusMessage",
     "containerStatuses[].allocatedResourcesStatus[].resources[].message"},
    {"ResourceHealthStatusMessage",
     "initContainerStatuses[].allocatedResourcesStatus[].resources[].message"},
    {"ResourceHealthStatusMessage",
     "ephemeralContainerStatuses[].allocatedResourcesStatus[].resources[].message"},
    {"PodObservedGenerationTracking", "observedGeneration"},
    {"PodObservedGenerationTracking", "conditions[].observedGeneration"},
};

json::Value At(json::Value value, const std::vector<std::string_view>& path) {
  for (const std::string_view name : path) value = value[name];
  return value;
}

bool IsImage(json::Value volume) { return !volume["image"].is_null(); }

bool HasImageVolume(json::Value spec) {
  const auto volumes = spec["volumes"].elements();
  return std::any_of(volumes.begin(), volumes.end(), &IsImage);
}

// `owner` without the elements of a list that `drops` names; an empty list goes as well.
template <typename Drops>
json::Value Filtered(json::Arena& arena, json::Value owner, std::string_view list,
                     const Drops& drops) {
  if (owner[list].is_null()) return owner;
  json::ArrayBuilder left(arena);
  for (const json::Value& element : owner[list].elements()) {
    if (!drops(element)) left.Add(element);
  }
  return left.size() == 0 ? json::Without(arena, owner, list)
                          : json::With(arena, owner, list, left.Build());
}

// Volumes of images go together with what mounts them (gate ImageVolume).
json::Value WithoutImageVolumes(json::Arena& arena, json::Value spec) {
  std::set<std::string_view> names;
  for (const json::Value& volume : spec["volumes"].elements()) {
    if (IsImage(volume)) names.insert(volume["name"].AsString());
  }
  spec = Filtered(arena, spec, "volumes", &IsImage);
  for (const std::string_view list : kContainerLists) {
    if (spec[list].empty()) continue;
    json::ArrayBuilder containers(arena);
    for (const json::Value& container : spec[list].elements()) {
      containers.Add(Filtered(arena, container, "volumeMounts", [&](json::Value mount) {
        return names.contains(mount["name"].AsString());
      }));
    }
    spec = json::With(arena, spec, list, containers.Build());
  }
  return spec;
}

}  // namespace

json::Value WithoutDisabledFieldsOfPods(const Context& ctx, std::string_view base,
                                        json::Value object, json::Value old) {
  static const DisabledFields fields(kOfPods);
  object = fields.Drop(ctx, base, object, old);
  if (ctx.release->GateEnabled("ImageVolume")) return object;
  const std::vector<std::string_view> names = base::Split(base, '.');
  const json::Value spec = At(object, names);
  if (!HasImageVolume(spec) || HasImageVolume(At(old, names))) return object;
  return json::SetPath(ctx.arena, object, names, WithoutImageVolumes(ctx.arena, spec));
}

json::Value WithoutDisabledPodStatus(const Context& ctx, json::Value pod, json::Value old) {
  // What the stored pod asks for counts, not which claims it was given.
  if (old["spec"]["resourceClaims"].empty() &&
      !ctx.release->GateEnabled("DynamicResourceAllocation")) {
    pod = json::RemovePath(ctx.arena, pod, {"status", "resourceClaimStatuses"});
  }
  static const DisabledFields fields(kOfStatus);
  return fields.Drop(ctx, "status", pod, old);
}

}  // namespace portcullis::registry
