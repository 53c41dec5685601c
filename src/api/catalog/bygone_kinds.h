// SPDX-License-Identifier: Apache-2.0

#pragma once

// Kinds of versions that kube-apiserver has types for and serves no more, as far as the catalog does
// not have them: it reads bodies of such before it refuses them, and patches may lead to them.
#include <algorithm>
#include <string_view>

#include "api/names.h"
#include "base/strings.h"

namespace portcullis::api::catalog {

struct BygoneKinds {
  std::string_view group;
  std::string_view version;
  // The version whose types are the same but for kBygoneFields; "": nothing is known of the types.
  std::string_view later;
  std::string_view kinds;
};

inline constexpr BygoneKinds kBygoneKinds[] = {
    {"", "v1", "",
     "NodeProxyOptions PodAttachOptions PodExecOptions PodLogOptions PodPortForwardOptions "
     "PodProxyOptions PodStatusResult RangeAllocation SerializedReference ServiceProxyOptions"},
    {"admission.k8s.io", "v1", "", "AdmissionReview"},
    {"admission.k8s.io", "v1beta1", "", "AdmissionReview"},
    {"apiextensions.k8s.io", "v1beta1", "v1", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "v1beta1", "v1", "APIService"},
    {"authentication.k8s.io", "v1alpha1", "v1", "SelfSubjectReview"},
    {"authentication.k8s.io", "v1beta1", "v1", "SelfSubjectReview TokenReview"},
    {"authorization.k8s.io", "v1beta1", "v1",
     "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
     "SubjectAccessReview"},
    {"certificates.k8s.io", "v1alpha1", "v1beta1", "ClusterTrustBundle"},
    {"certificates.k8s.io", "v1beta1", "v1", "CertificateSigningRequest"},
    {"coordination.k8s.io", "v1beta1", "v1", "Lease"},
    {"discovery.k8s.io", "v1beta1", "v1", "EndpointSlice"},
    {"events.k8s.io", "v1beta1", "v1", "Event"},
    {"flowcontrol.apiserver.k8s.io", "v1beta1", "v1", "FlowSchema PriorityLevelConfiguration"},
    {"flowcontrol.apiserver.k8s.io", "v1beta2", "v1", "FlowSchema PriorityLevelConfiguration"},
    {"flowcontrol.apiserver.k8s.io", "v1beta3", "v1", "FlowSchema PriorityLevelConfiguration"},
    {"imagepolicy.k8s.io", "v1alpha1", "", "ImageReview"},
    {"node.k8s.io", "v1alpha1", "v1", "RuntimeClass"},
    {"node.k8s.io", "v1beta1", "v1", "RuntimeClass"},
    {"policy", "v1beta1", "v1", "Eviction"},
    {"rbac.authorization.k8s.io", "v1alpha1", "v1",
     "ClusterRole ClusterRoleBinding Role RoleBinding"},
    {"rbac.authorization.k8s.io", "v1beta1", "v1",
     "ClusterRole ClusterRoleBinding Role RoleBinding"},
    {"scheduling.k8s.io", "v1beta1", "v1", "PriorityClass"},
    {"storage.k8s.io", "v1alpha1", "v1",
     "CSIStorageCapacity VolumeAttachment VolumeAttributesClass"},
    {"storage.k8s.io", "v1beta1", "v1",
     "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment"},
    {"storagemigration.k8s.io", "v1beta1", "", "StorageVersionMigration"},
};

// A field that a bygone version has in the place of one of the later version, or besides.
struct BygoneField {
  std::string_view versions;  // "group/version", separated by spaces
  std::string_view type;      // a Go struct of the later version
  std::string_view field;     // of it, which the bygone version does not have; "" if there is none
  std::string_view name;      // in the bygone version; "" if that has no such field
  // "Struct.field" of the later version with the same type, "*" for a pointer to it; or a struct with
  // fields of a later one, "Struct name=field name=field"; "": `field`.
  std::string_view like;
};

inline constexpr std::string_view kOldDefinitions = "apiextensions.k8s.io/v1beta1";
inline constexpr BygoneField kBygoneFields[] = {
    {kOldDefinitions, "CustomResourceDefinitionSpec", "", "version",
     "CustomResourceDefinitionVersion.name"},
    {kOldDefinitions, "CustomResourceDefinitionSpec", "", "validation",
     "CustomResourceDefinitionVersion.schema"},
    {kOldDefinitions, "CustomResourceDefinitionSpec", "", "subresources",
     "CustomResourceDefinitionVersion.subresources"},
    {kOldDefinitions, "CustomResourceDefinitionSpec", "", "additionalPrinterColumns",
     "CustomResourceDefinitionVersion.additionalPrinterColumns"},
    {kOldDefinitions, "CustomResourceDefinitionSpec", "", "selectableFields",
     "CustomResourceDefinitionVersion.selectableFields"},
    {kOldDefinitions, "CustomResourceDefinitionSpec", "preserveUnknownFields",
     "preserveUnknownFields", "*"},
    {kOldDefinitions, "CustomResourceConversion", "webhook", "webhookClientConfig",
     "WebhookConversion.clientConfig"},
    {kOldDefinitions, "CustomResourceConversion", "", "conversionReviewVersions",
     "WebhookConversion.conversionReviewVersions"},
    {kOldDefinitions, "CustomResourceColumnDefinition", "jsonPath", "JSONPath", ""},
    {"authorization.k8s.io/v1beta1", "SubjectAccessReviewSpec", "groups", "group", ""},
    {"discovery.k8s.io/v1beta1", "Endpoint", "deprecatedTopology", "topology", ""},
    {"discovery.k8s.io/v1beta1", "Endpoint", "zone", "", ""},
    {"flowcontrol.apiserver.k8s.io/v1beta1 flowcontrol.apiserver.k8s.io/v1beta2",
     "LimitedPriorityLevelConfiguration", "nominalConcurrencyShares", "assuredConcurrencyShares",
     ""},
    {"node.k8s.io/v1alpha1", "RuntimeClass", "handler", "spec",
     "RuntimeClass runtimeHandler=handler overhead=overhead scheduling=scheduling"},
    {"node.k8s.io/v1alpha1", "RuntimeClass", "overhead", "", ""},
    {"node.k8s.io/v1alpha1", "RuntimeClass", "scheduling", "", ""},
    {"rbac.authorization.k8s.io/v1alpha1", "Subject", "apiGroup", "apiVersion", ""},
};

// Null if it is none of them.
inline const BygoneKinds* FindBygone(const GroupVersionKind& kind) {
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

}  // namespace portcullis::api::catalog
