#include "registry/validation/validation.h"

#include "registry/validation/field_rules.h"
#include "registry/validation/kinds.h"

namespace portcullis::registry {
namespace {

struct Row {
  std::string_view group;
  std::string_view resource;
  Check create;
  UpdateCheck update = nullptr;  // null: the same checks as for a create
};

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kStorage = "storage.k8s.io";
constexpr std::string_view kFlowControl = "flowcontrol.apiserver.k8s.io";

constexpr Row kRows[] = {
    {"", "configmaps", &ValidateConfigMap, &ValidateConfigMapUpdate},
    {"", "endpoints", &ValidateEndpoints},
    {"", "limitranges", &ValidateLimitRange},
    {"", "nodes", &ValidateNode, &ValidateNodeUpdate},
    {"", "persistentvolumeclaims", &ValidatePersistentVolumeClaim,
     &ValidatePersistentVolumeClaimUpdate},
    {"", "persistentvolumes", &ValidatePersistentVolume, &ValidatePersistentVolumeUpdate},
    {"", "pods", &ValidatePod, &ValidatePodUpdate},
    {"", "replicationcontrollers", &ValidateReplicationController},
    {"", "resourcequotas", &ValidateResourceQuota, &ValidateResourceQuotaUpdate},
    {"", "secrets", &ValidateSecret, &ValidateSecretUpdate},
    {"", "services", &ValidateService, &ValidateServiceUpdate},
    {"apiextensions.k8s.io", "customresourcedefinitions", &ValidateCustomResourceDefinition,
     &ValidateCustomResourceDefinitionUpdate},
    {"apiregistration.k8s.io", "apiservices", &ValidateApiService},
    {"apps", "daemonsets", &ValidateDaemonSet, &ValidateDaemonSetUpdate},
    {"apps", "deployments", &ValidateDeployment, &ValidateDeploymentUpdate},
    {"apps", "replicasets", &ValidateReplicaSet, &ValidateReplicaSetUpdate},
    {"apps", "statefulsets", &ValidateStatefulSet, &ValidateStatefulSetUpdate},
    {"autoscaling", "horizontalpodautoscalers", &ValidateHorizontalPodAutoscaler},
    {"batch", "cronjobs", &ValidateCronJob, &ValidateCronJobUpdate},
    {"batch", "jobs", &ValidateJob, &ValidateJobUpdate},
    {"certificates.k8s.io", "certificatesigningrequests", &ValidateCertificateSigningRequest,
     &ValidateCertificateSigningRequestUpdate},
    {"certificates.k8s.io", "clustertrustbundles", &ValidateClusterTrustBundle},
    {"discovery.k8s.io", "endpointslices", &ValidateEndpointSlice, &ValidateEndpointSliceUpdate},
    {kFlowControl, "flowschemas", &ValidateFlowSchema},
    {kFlowControl, "prioritylevelconfigurations", &ValidatePriorityLevelConfiguration},
    {"networking.k8s.io", "ingressclasses", &ValidateIngressClass},
    {"networking.k8s.io", "ingresses", &ValidateIngress, &ValidateIngressUpdate},
    {"networking.k8s.io", "ipaddresses", &ValidateIpAddress},
    {"networking.k8s.io", "networkpolicies", &ValidateNetworkPolicy},
    {"node.k8s.io", "runtimeclasses", &ValidateRuntimeClass},
    {"networking.k8s.io", "servicecidrs", &ValidateServiceCidr, &ValidateServiceCidrUpdate},
    {"policy", "poddisruptionbudgets", &ValidatePodDisruptionBudget},
    {kRbac, "clusterrolebindings", &ValidateRoleBinding, &ValidateRoleBindingUpdate},
    {kRbac, "clusterroles", &ValidateClusterRole},
    {kRbac, "rolebindings", &ValidateRoleBinding, &ValidateRoleBindingUpdate},
    {kRbac, "roles", &ValidateRole},
    {"scheduling.k8s.io", "priorityclasses", &ValidatePriorityClass},
    {kStorage, "csidrivers", &ValidateCsiDriver, &ValidateCsiDriverUpdate},
    {kStorage, "csinodes", &ValidateCsiNode},
    {kStorage, "csistoragecapacities", &ValidateCsiStorageCapacity},
    {kStorage, "storageclasses", &ValidateStorageClass},
    {kStorage, "volumeattachments", &ValidateVolumeAttachment},
    {kStorage, "volumeattributesclasses", &ValidateVolumeAttributesClass},
};

// Finalizers of built-in kinds are qualified or standard ones.
void CheckFinalizers(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  for (const std::string_view group : {"admissionregistration.k8s.io", "apiextensions.k8s.io",
                                       "apiregistration.k8s.io", "coordination.k8s.io"}) {
    if (ctx.resource.group == group) return;
  }
  std::size_t index = 0;
  for (const json::Value& finalizer : object["metadata"]["finalizers"].elements()) {
    const api::FieldPath at = api::FieldPath("metadata", "finalizers").Index(index++);
    const std::string_view name = finalizer.AsString();
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (standard || name.find('/') != std::string_view::npos) continue;
    errors.push_back(api::Invalid(
        at, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

const Row* Find(const Context& ctx) {
  for (const Row& row : kRows) {
    if (row.resource == ctx.resource.resource && row.group == ctx.resource.group) return &row;
  }
  return nullptr;
}

}  // namespace

void ValidateKind(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  CheckFinalizers(ctx, object, errors);
  if (const Row* row = Find(ctx)) row->create(ctx, object, errors);
  CheckFieldRules(ctx, object, nullptr, errors);
}

void ValidateKindUpdate(const Context& ctx, json::Value object, json::Value old,
                        api::FieldErrors& errors) {
  CheckFinalizers(ctx, object, errors);
  if (const Row* row = Find(ctx)) {
    if (row->update != nullptr) {
      row->update(ctx, object, old, errors);
    } else {
      row->create(ctx, object, errors);
    }
  }
  if (ctx.subresource.empty()) CheckFieldRules(ctx, object, &old, errors);
}

}  // namespace portcullis::registry
