// SPDX-License-Identifier: Apache-2.0

// The parts of the validation of a PodSpec, in the order in which ValidatePodSpec runs them
// (pkg/apis/core/validation). Private to the validation of pods and of volumes.
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Annotations that stood for seccompProfile; the second one ends with the container's name.
inline constexpr std::string_view kSeccompPod = "seccomp.security.alpha.kubernetes.io/pod";
inline constexpr std::string_view kSeccompContainer =
    "container.seccomp.security.alpha.kubernetes.io/";

// Set on the pod that a kubelet creates in the API for a static pod.
inline constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

inline bool IsSidecar(json::Value init_container) {
  return init_container["restartPolicy"].AsString() == "Always";
}

// Of a container's resizePolicy.
inline bool IsRestartedByResize(json::Value policy) {
  return policy["restartPolicy"].AsString() == "RestartContainer";
}

inline bool IsSet(json::Value value) { return !value.is_null(); }

// What the checks of one PodSpec share.
struct PodContext {
  const Context& ctx;
  json::Value spec;
  std::map<std::string_view, json::Value> volumes;  // the valid ones, by name
  std::set<std::string_view> claims;                // names of spec.resourceClaims
  bool is_pod = false;                              // not a template
  json::Value sent;                                 // the spec as the client's text had it, or null
  json::Value old;                                  // the stored spec that it replaces, or null
  bool mounts_selinux = false;                      // gate SELinuxMount
  bool merges_spread_keys = true;          // MatchLabelKeysInPodTopologySpreadSelectorMerge
  bool has_users_in_host_network = false;  // gate UserNamespacesHostNetworkSupport
  bool has_env_files = true;               // EnvFiles, or the stored spec uses one
  bool restarts_init_containers = false;   // the stored spec does, by a resize
  bool restarts_all = true;  // RestartAllContainersOnContainerExits, or the stored spec uses it
};

// pod_validation.cc, pod_update.cc
void ValidatePod(const Context& ctx, json::Value object, FieldErrors& errors);
void ValidatePodUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors);
// pod_resize.cc, pod_status.cc
void ValidatePodResize(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors);
void ValidatePodStatus(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors);
// pod_container_status.cc: of a pod's status
void CheckExtendedClaimStatus(json::Value object, FieldErrors& errors);
void CheckContainerStatuses(json::Value object, FieldErrors& errors);
// What holds for a pod however it comes to be: annotations and spec. `old` is what an update replaces.
void ValidatePodContent(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors);
// A pod template at `path`: metadata's labels and annotations, and the spec. `old` is the template that
// an update replaces.
void ValidatePodTemplate(const Context& ctx, json::Value pod_template, json::Value old,
                         const FieldPath& path, FieldErrors& errors);
// Only the metadata: of a StatefulSet's template Kubernetes judges nothing else, because the
// volumes that its claim templates will bring are not in it.
void ValidatePodTemplateMetadata(json::Value pod_template, const FieldPath& path,
                                 FieldErrors& errors);

// pod_volumes.cc, volume_sources.cc. `metadata` is the pod's, null for a template.
void CheckVolumes(PodContext& pod, json::Value metadata, const FieldPath& path,
                  FieldErrors& errors);
// Sources that volumes of pods and persistent volumes share.
void CheckHostPath(json::Value source, const FieldPath& path, FieldErrors& errors);
void CheckVolumeField(json::Value source, std::string_view name, const FieldPath& path,
                      bool persistent, FieldErrors& errors);
void CheckCsiDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckNoBacksteps(std::string_view text, const FieldPath& path, FieldErrors& errors);
// Relative, without "..".
void CheckDescendingPath(std::string_view text, const FieldPath& path, FieldErrors& errors);
void CheckLocalPath(std::string_view text, const FieldPath& path, FieldErrors& errors);
// Of an update: `before` is the stored spec. A claim that has named an API group may name a bad one.
void CheckClaimSpec(json::Value spec, const FieldPath& path, FieldErrors& errors,
                    json::Value before = {});
void CheckAccessModes(json::Value modes, const FieldPath& path, FieldErrors& errors);

// pod_environment.cc
// `has_files`: the message about missing sources names fileKeyRef.
void CheckEnv(json::Value env, const FieldPath& path, FieldErrors& errors, bool has_files = true);
void CheckEnvFrom(json::Value sources, const FieldPath& path, FieldErrors& errors);
// Whether a container of the spec has a variable from a file.
bool HasFileKeyRef(json::Value spec);
// Variables from files: each names a volume of the pod that is an emptyDir. `spec`: of the pod.
void CheckFileKeyRefVolumes(json::Value spec, const FieldPath& path, FieldErrors& errors);
void CheckFieldRef(json::Value selector, bool volume, const FieldPath& path, FieldErrors& errors);
void CheckResourceFieldRef(json::Value selector, bool volume, const FieldPath& path,
                           FieldErrors& errors);

// pod_resources.cc
void CheckContainerResources(json::Value resources, const std::set<std::string_view>& claims,
                             const FieldPath& path, FieldErrors& errors);
void CheckPodResources(const PodContext& pod, const FieldPath& path, FieldErrors& errors);

// pod_containers.cc
// container["volumeMounts"], against the volumes of the pod.
void CheckVolumeMounts(json::Value container, const PodContext& pod, const FieldPath& path,
                       FieldErrors& errors);
void CheckContainers(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
void CheckEphemeralContainers(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
// What holds for containers of pods but not of templates.
void CheckContainersOfPod(json::Value spec, const FieldPath& path, FieldErrors& errors);

// security_context.cc
// `sent` is the context as the client's text had it, or null.
void CheckSecurityContext(const PodContext& pod, json::Value context, json::Value sent,
                          const FieldPath& path, FieldErrors& errors);
void CheckPodSecurityContext(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
void CheckHostProcess(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
void CheckOperatingSystem(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
// Annotations of pods and templates; `spec_path` is that of the PodSpec.
void CheckPodAnnotations(json::Value annotations, json::Value spec, const FieldPath& path,
                         FieldErrors& errors);
void CheckSeccompText(std::string_view profile, const FieldPath& path, FieldErrors& errors);
// "" passes.
// A profile as a field: its type, and the path of one of the node's own.
void CheckAppArmor(json::Value profile, const FieldPath& path, FieldErrors& errors);
void CheckAppArmorText(std::string_view profile, const FieldPath& path, FieldErrors& errors);
void CheckSeccompAnnotations(json::Value annotations, json::Value spec, const FieldPath& spec_path,
                             FieldErrors& errors);
// A profile says the same as the annotation that was there before profiles.
void CheckAppArmorAgreement(json::Value annotations, json::Value spec, const FieldPath& spec_path,
                            FieldErrors& errors);

// pod_scheduling.cc
void CheckAffinity(json::Value affinity, const FieldPath& path, FieldErrors& errors);
void CheckNodeSelector(json::Value selector, const FieldPath& path, FieldErrors& errors);
void CheckTolerations(json::Value tolerations, const FieldPath& path, FieldErrors& errors);
void CheckTaints(json::Value taints, const FieldPath& path, FieldErrors& errors);
void CheckTopologySpread(const PodContext& pod, const FieldPath& path, FieldErrors& errors);
void CheckSchedulingGates(json::Value gates, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
