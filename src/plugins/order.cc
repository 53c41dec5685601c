// SPDX-License-Identifier: Apache-2.0

// The order of the admission chain, as data: that of kube-apiserver v1.36, and the
// places of plugins that earlier releases had.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "plugins/registry.h"

namespace portcullis::plugins {
namespace {

constexpr std::array<std::string_view, 51> kOrder = {
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "SecurityContextDeny",  // up to v1.29
    "LimitPodHardAntiAffinityTopology",
    "InitialResources",  // up to v1.10
    "PodPreset",         // up to v1.19
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodSecurityPolicy",  // up to v1.24
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "DenyExecOnPrivileged",  // up to v1.20
    "DenyEscalatingExec",    // likewise
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PersistentVolumeLabel",  // up to v1.30
    "DefaultStorageClass",
    "PVCProtection",  // v1.9
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "PodResizeValidator",
    // The tail: a plugin of our own runs before it.
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "Initializers",  // up to v1.13
    "ValidatingAdmissionPolicy",
    "GenericAdmissionWebhook",  // up to v1.8
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
};
constexpr std::size_t kTail = 43;
static_assert(kOrder[kTail] == "MutatingAdmissionPolicy");

// Sort key: twice the position in kOrder; unknown names fall between the last one before the tail
// and the tail.
std::pair<std::size_t, std::string_view> KeyOf(std::string_view name) {
  const auto* found = std::find(kOrder.begin(), kOrder.end(), name);
  if (found == kOrder.end()) return {2 * kTail - 1, name};
  return {2 * static_cast<std::size_t>(found - kOrder.begin()), {}};
}

}  // namespace

std::span<const std::string_view> KubernetesOrder() { return kOrder; }

void SortByOrder(std::vector<const admission::PluginInfo*>& plugins) {
  std::sort(plugins.begin(), plugins.end(),
            [](const admission::PluginInfo* a, const admission::PluginInfo* b) {
              return KeyOf(a->name) < KeyOf(b->name);
            });
}

}  // namespace portcullis::plugins
