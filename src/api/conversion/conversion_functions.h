// SPDX-License-Identifier: Apache-2.0

// The conversions that are more than moving fields: named functions conversions.rules calls.
#pragma once

#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api {

using ConversionFunction = base::Result<json::Value> (*)(json::Arena& arena, json::Value value);

// Null if there is no function of this name.
ConversionFunction FindConversionFunction(std::string_view name);

// autoscaling/v1 <-> v2 (conversion/autoscaler.cc).
json::Value AutoscalerFromV1(json::Arena& arena, json::Value autoscaler);
json::Value AutoscalerToV1(json::Arena& arena, json::Value autoscaler);
// In v1, as it comes back from the internal type, which is that of v2; but what v1 adds stays out of it: a
// metric of the CPU, and averages of zero.
base::Result<json::Value> AutoscalerThroughInternal(json::Arena& arena, json::Value autoscaler);
// Without the annotations in which v1 says what only v2 has fields for: v2 has no use for them.
json::Value WithoutAutoscalerAnnotations(json::Arena& arena, json::Value autoscaler);
// In v1, with the annotations in which it says what only that part of v2 has fields for, of `other`;
// without them where that has none.
enum class AutoscalerPart { kSpec, kStatus };
json::Value WithAutoscalerAnnotations(json::Arena& arena, json::Value autoscaler, json::Value other,
                                      AutoscalerPart part);

// What extensions/v1beta1 and apps/v1beta1 have fields for and later versions annotations, and
// Ingresses before networking.k8s.io/v1 (conversion/legacy.cc, docs/legacy.md).
// An annotation that is no number is an error, with Kubernetes' text.
json::Value RollbackToAnnotation(json::Arena& arena, json::Value deployment);
base::Result<json::Value> RollbackFromAnnotation(json::Arena& arena, json::Value deployment);
json::Value TemplateGenerationToAnnotation(json::Arena& arena, json::Value daemon_set);
base::Result<json::Value> TemplateGenerationFromAnnotation(json::Arena& arena,
                                                           json::Value daemon_set);
// The annotations as they come back from the fields: "+03" is "3", an empty rollback is none.
base::Result<json::Value> RollbackThroughField(json::Arena& arena, json::Value deployment);
base::Result<json::Value> TemplateGenerationThroughField(json::Arena& arena,
                                                         json::Value daemon_set);
// The status of a Scale: a text, or a map and a text.
json::Value ScaleStatusFromLegacy(json::Arena& arena, json::Value status);
base::Result<json::Value> ScaleStatusToLegacy(json::Arena& arena, json::Value status);
json::Value IngressFromV1beta1(json::Arena& arena, json::Value spec);
json::Value IngressToV1beta1(json::Arena& arena, json::Value spec);

// The internal type of a definition has no webhook without content (conversion/stored.cc).
json::Value WithoutEmptyWebhook(json::Arena& arena, json::Value conversion);

// Of objects that lie in etcd in versions that are not served any more (conversion/stored.cc).
json::Value DefinitionFromV1beta1(json::Arena& arena, json::Value spec);
json::Value SubjectsFromV1alpha1(json::Arena& arena, json::Value binding);
json::Value EndpointsFromV1beta1(json::Arena& arena, json::Value slice);
json::Value PriorityLevelFromV1beta2(json::Arena& arena, json::Value limited);
json::Value PriorityLevelFromV1beta3(json::Arena& arena, json::Value level);
json::Value RuntimeClassFromV1alpha1(json::Arena& arena, json::Value runtime_class);
json::Value DisruptionSelectorFromV1beta1(json::Arena& arena, json::Value selector);
json::Value DisruptionSelectorToV1beta1(json::Arena& arena, json::Value selector);

}  // namespace portcullis::api
