// SPDX-License-Identifier: Apache-2.0

// Checks that deployments, replica sets, stateful sets, daemon sets and replication controllers
// share (pkg/apis/apps/validation). Pure functions; any thread.
#pragma once

#include "registry/disabled_fields.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {

// spec.selector: required, well formed, not empty. `kind` is named in the message.
void CheckWorkloadSelector(const Context& ctx, json::Value spec, std::string_view kind,
                           FieldErrors& errors);
// What is said of an empty one.
std::string EmptySelectorText(const Context& ctx, std::string_view kind);
// The selector may not change, unless the object comes through extensions/v1beta1 or apps/v1beta1
// (docs/legacy.md).
void CheckSelectorStays(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors);
// The labels of spec.template match spec.selector; an absent selector matches nothing. False, with
// the text `unreadable`, if the selector cannot be read.
bool CheckTemplateMatches(const Context& ctx, json::Value spec, std::string_view unreadable,
                          FieldErrors& errors);
// The error of labels of spec.template that spec.selector does not match.
api::FieldError TemplateDoesNotMatch(const Context& ctx, json::Value spec);
// restartPolicy is Always, and there is no activeDeadlineSeconds.
void CheckAlwaysRestarts(json::Value pod_template, std::string_view kind, FieldErrors& errors);
// The template of a ReplicaSet or a Deployment. `old` is the spec that an update replaces.
void CheckReplicaTemplate(const Context& ctx, json::Value spec, json::Value old,
                          FieldErrors& errors);

// The number, or the number before the percent sign.
std::int64_t NumberOrPercent(json::Value value);
void CheckAtMostHundredPercent(json::Value value, const FieldPath& path, FieldErrors& errors);

// Fields of a status: not negative; at most another field, with `text` as the error's detail.
void CheckStatusCounts(json::Value status, std::initializer_list<std::string_view> fields,
                       FieldErrors& errors);
void CheckStatusAtMost(json::Value status, std::string_view field, std::string_view limit,
                       std::string_view text, FieldErrors& errors);
inline constexpr std::string_view kMoreThanReplicas = "cannot be greater than status.replicas";
// status.collisionCount does not become less.
void CheckCollisionCount(json::Value status, json::Value old, FieldErrors& errors);
// Of Deployments and ReplicaSets.
inline constexpr DisabledField kDisabledOfReplicas[] = {
    {"DeploymentReplicaSetTerminatingReplicas", "status.terminatingReplicas"}};
// The status of a ReplicaSet or a ReplicationController.
void CheckReplicaStatus(json::Value status, FieldErrors& errors);

}  // namespace portcullis::registry
