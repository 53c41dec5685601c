// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kinds of versions that kube-apiserver has types for and serves no more, as far as the catalog does
// not have them: it reads bodies of such before it refuses them.
#include <algorithm>
#include <string_view>

#include "api/names.h"
#include "base/strings.h"

namespace portcullis::engine {

struct BygoneKinds {
  std::string_view group;
  std::string_view version;
  std::string_view same;  // the version whose types have the same fields; "" if there is none
  std::string_view kinds;
};

inline constexpr BygoneKinds kBygoneKinds[] = {
    {"", "v1", "",
     "NodeProxyOptions PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions "
     "PodProxyOptions PodStatusResult RangeAllocation SerializedReference ServiceProxyOptions"},
    {"admission.k8s.io", "v1", "", "AdmissionReview"},
    {"admission.k8s.io", "v1beta1", "", "AdmissionReview"},
    {"apiextensions.k8s.io", "v1beta1", "", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "v1beta1", "v1", "APIService"},
    {"authentication.k8s.io", "v1beta1", "v1", "SelfSubjectReview TokenReview"},
    {"authorization.k8s.io", "v1beta1", "v1", "SelfSubjectAccessReview SelfSubjectRulesReview"},
    {"authorization.k8s.io", "v1beta1", "", "LocalSubjectAccessReview SubjectAccessReview"},
    {"certificates.k8s.io", "v1beta1", "v1", "CertificateSigningRequest"},
    {"coordination.k8s.io", "v1beta1", "v1", "Lease"},
    {"discovery.k8s.io", "v1beta1", "", "EndpointSlice"},
    {"events.k8s.io", "v1beta1", "v1", "Event"},
    {"flowcontrol.apiserver.k8s.io", "v1beta1", "v1", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io", "v1beta1", "", "PriorityLevelConfiguration"},
    {"flowcontrol.apiserver.k8s.io", "v1beta2", "v1", "FlowSchema"},
    {"flowcontrol.apiserver.k8s.io", "v1beta2", "", "PriorityLevelConfiguration"},
    {"flowcontrol.apiserver.k8s.io", "v1beta3", "v1", "FlowSchema PriorityLevelConfiguration"},
    {"imagepolicy.k8s.io", "v1alpha1", "", "ImageReview"},
    {"node.k8s.io", "v1alpha1", "", "RuntimeClass"},
    {"node.k8s.io", "v1beta1", "v1", "RuntimeClass"},
    {"policy", "v1beta1", "", "Eviction"},
    {"rbac.authorization.k8s.io", "v1alpha1", "v1", "ClusterRole Role"},
    {"rbac.authorization.k8s.io", "v1alpha1", "", "ClusterRoleBinding RoleBinding"},
    {"rbac.authorization.k8s.io", "v1beta1", "v1",
     "ClusterRole ClusterRoleBinding Role RoleBinding"},
    {"scheduling.k8s.io", "v1beta1", "v1", "PriorityClass"},
    {"storage.k8s.io", "v1alpha1", "v1",
     "CSIStorageCapacity VolumeAttachment VolumeAttributesClass"},
    {"storage.k8s.io", "v1beta1", "v1",
     "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment"},
    {"storagemigration.k8s.io", "v1beta1", "", "StorageVersionMigration"},
};

// Null if it is none of them.
inline const BygoneKinds* FindBygone(const api::GroupVersionKind& kind) {
  for (const BygoneKinds& row : kBygoneKinds) {
    if (row.group != kind.group || row.version != kind.version) continue;
    const auto kinds = base::Split(row.kinds, ' ');
    if (std::find(kinds.begin(), kinds.end(), kind.kind) != kinds.end()) return &row;
  }
  return nullptr;
}

// What only plugins of this program and releases before all that kube-apiserver emulates have.
inline bool IsUnknownToKubernetes(std::string_view kind) {
  return kind == "ExternalAdmissionHookConfiguration" || kind == "InitializerConfiguration" ||
         kind == "PodPreset" || kind == "PodSecurityPolicy";
}

}  // namespace portcullis::engine
