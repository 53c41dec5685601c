// The validation of each kind that needs more than rows of data. One file per family; each function
// stands in the table of validation.cc.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

using Check = void (*)(const Context& ctx, json::Value object, api::FieldErrors& errors);
using UpdateCheck = void (*)(const Context& ctx, json::Value object, json::Value old,
                             api::FieldErrors& errors);

// config.cc
void ValidateConfigMap(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateConfigMapUpdate(const Context& ctx, json::Value object, json::Value old,
                             api::FieldErrors& errors);
void ValidateSecret(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateSecretUpdate(const Context& ctx, json::Value object, json::Value old,
                          api::FieldErrors& errors);

// limits.cc
void ValidateLimitRange(const Context& ctx, json::Value object, api::FieldErrors& errors);

// quotas.cc
void ValidateResourceQuota(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateResourceQuotaUpdate(const Context& ctx, json::Value object, json::Value old,
                                 api::FieldErrors& errors);

// service_validation.cc
void ValidateService(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateServiceUpdate(const Context& ctx, json::Value object, json::Value old,
                           api::FieldErrors& errors);

// pod_validation.cc
void ValidatePod(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidatePodUpdate(const Context& ctx, json::Value object, json::Value old,
                       api::FieldErrors& errors);
// What holds for a pod however it comes to be: annotations and spec.
void ValidatePodContent(json::Value object, api::FieldErrors& errors);
// A pod template at `path`: metadata's labels and annotations, and the spec.
void ValidatePodTemplate(json::Value pod_template, const api::FieldPath& path,
                         api::FieldErrors& errors);

// workloads.cc
void ValidateDeployment(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateDeploymentUpdate(const Context& ctx, json::Value object, json::Value old,
                              api::FieldErrors& errors);
void ValidateReplicaSet(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateReplicaSetUpdate(const Context& ctx, json::Value object, json::Value old,
                              api::FieldErrors& errors);
void ValidateDaemonSet(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateDaemonSetUpdate(const Context& ctx, json::Value object, json::Value old,
                             api::FieldErrors& errors);
void ValidateStatefulSet(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateStatefulSetUpdate(const Context& ctx, json::Value object, json::Value old,
                               api::FieldErrors& errors);
void ValidateReplicationController(const Context& ctx, json::Value object,
                                   api::FieldErrors& errors);
void ValidateJob(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateJobUpdate(const Context& ctx, json::Value object, json::Value old,
                       api::FieldErrors& errors);
void ValidateCronJob(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateCronJobUpdate(const Context& ctx, json::Value object, json::Value old,
                           api::FieldErrors& errors);

// rbac.cc
void ValidateRole(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateClusterRole(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateRoleBinding(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateRoleBindingUpdate(const Context& ctx, json::Value object, json::Value old,
                               api::FieldErrors& errors);

// certificates.cc
void ValidateCertificateSigningRequest(const Context& ctx, json::Value object,
                                       api::FieldErrors& errors);
void ValidateCertificateSigningRequestUpdate(const Context& ctx, json::Value object,
                                             json::Value old, api::FieldErrors& errors);
void ValidateClusterTrustBundle(const Context& ctx, json::Value object, api::FieldErrors& errors);

// flowcontrol.cc
void ValidateFlowSchema(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidatePriorityLevelConfiguration(const Context& ctx, json::Value object,
                                        api::FieldErrors& errors);

// storage.cc
void ValidatePersistentVolumeClaim(const Context& ctx, json::Value object,
                                   api::FieldErrors& errors);
void ValidatePersistentVolumeClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                                         api::FieldErrors& errors);
void ValidatePersistentVolume(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidatePersistentVolumeUpdate(const Context& ctx, json::Value object, json::Value old,
                                    api::FieldErrors& errors);

// cluster.cc
void ValidateRuntimeClass(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidatePriorityClass(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateNode(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateNodeUpdate(const Context& ctx, json::Value object, json::Value old,
                        api::FieldErrors& errors);

// autoscaling.cc
void ValidateHorizontalPodAutoscaler(const Context& ctx, json::Value object,
                                     api::FieldErrors& errors);

// networking.cc
void ValidateIngress(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateIngressUpdate(const Context& ctx, json::Value object, json::Value old,
                           api::FieldErrors& errors);
void ValidateIngressClass(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateNetworkPolicy(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidatePodDisruptionBudget(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateIpAddress(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateServiceCidr(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateServiceCidrUpdate(const Context& ctx, json::Value object, json::Value old,
                               api::FieldErrors& errors);

// api_service.cc
void ValidateApiService(const Context& ctx, json::Value object, api::FieldErrors& errors);

// endpoints.cc
void ValidateEndpoints(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateEndpointSlice(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateEndpointSliceUpdate(const Context& ctx, json::Value object, json::Value old,
                                 api::FieldErrors& errors);

// storage_classes.cc
void ValidateStorageClass(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateCsiDriver(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateCsiDriverUpdate(const Context& ctx, json::Value object, json::Value old,
                             api::FieldErrors& errors);
void ValidateCsiNode(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateVolumeAttachment(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateCsiStorageCapacity(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateVolumeAttributesClass(const Context& ctx, json::Value object,
                                   api::FieldErrors& errors);

// custom_resource_definition_validation.cc
void ValidateCustomResourceDefinition(const Context& ctx, json::Value object,
                                      api::FieldErrors& errors);
void ValidateCustomResourceDefinitionUpdate(const Context& ctx, json::Value object, json::Value old,
                                            api::FieldErrors& errors);

}  // namespace portcullis::registry
