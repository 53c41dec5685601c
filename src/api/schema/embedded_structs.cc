// SPDX-License-Identifier: Apache-2.0

#include "api/schema/embedded_structs.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::api::schema {
namespace {

// All fields are embedded but `own`.
struct Embedding {
  std::string_view owner;
  std::string_view embedded;
  std::string_view own;
};
constexpr Embedding kEmbeddings[] = {
    {"ConfigMapEnvSource", "LocalObjectReference", "optional"},
    {"ConfigMapKeySelector", "LocalObjectReference", "key optional"},
    {"ConfigMapProjection", "LocalObjectReference", "items optional"},
    {"ConfigMapVolumeSource", "LocalObjectReference", "items defaultMode optional"},
    {"DeleteOptions", "TypeMeta",
     "gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun "
     "ignoreStoreReadErrorWithClusterBreakingPotential"},
    {"DeviceAllocationConfiguration", "DeviceConfiguration", "source requests"},
    {"DeviceClaimConfiguration", "DeviceConfiguration", "requests"},
    {"DeviceClassConfiguration", "DeviceConfiguration", ""},
    {"EphemeralContainer", "EphemeralContainerCommon", "targetContainerName"},
    {"IngressRule", "IngressRuleValue", "host"},
    {"NamedRuleWithOperations", "RuleWithOperations", "resourceNames"},
    {"PersistentVolumeClaim", "TypeMeta", "metadata spec status"},
    {"PersistentVolumeSpec", "PersistentVolumeSource",
     "capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions "
     "volumeMode nodeAffinity volumeAttributesClassName"},
    {"Probe", "ProbeHandler",
     "initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold "
     "terminationGracePeriodSeconds"},
    {"RuleWithOperations", "Rule", "operations"},
    {"SecretEnvSource", "LocalObjectReference", "optional"},
    {"SecretKeySelector", "LocalObjectReference", "key optional"},
    {"SecretProjection", "LocalObjectReference", "items optional"},
    {"Volume", "VolumeSource", "name"},
};

// Null if the field is the owner's own.
const Embedding* Find(std::string_view owner, std::string_view field) {
  for (const Embedding& embedding : kEmbeddings) {
    if (embedding.owner != owner) continue;
    const auto own = base::Split(embedding.own, ' ');
    return std::find(own.begin(), own.end(), field) == own.end() ? &embedding : nullptr;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string_view> EmbeddedStructs(std::string_view owner, std::string_view field) {
  std::vector<std::string_view> embedded;
  while (const Embedding* const found = Find(owner, field)) {
    owner = found->embedded;
    embedded.push_back(owner);
  }
  return embedded;
}

}  // namespace portcullis::api::schema
