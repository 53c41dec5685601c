// SPDX-License-Identifier: Apache-2.0

// Views of pods and of the kinds that contain a pod template.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>

#include "api/field_path.h"
#include "api/names.h"
#include "json/value.h"

namespace portcullis::api::view {

enum class ContainerType : std::uint8_t { kInit, kContainer, kEphemeral };

// Calls `visit` for each container of a PodSpec with its place below `spec_path`, in the order
// initContainers, containers, ephemeralContainers. Stops when it returns false; false if stopped.
bool VisitContainers(json::Value pod_spec, const FieldPath& spec_path,
                     const std::function<bool(json::Value container, const FieldPath& path,
                                              ContainerType type)>& visit);

// The PodSpec with each container replaced by what `edit` returns; shares what is unchanged.
json::Value EditContainers(
    json::Arena& arena, json::Value pod_spec,
    const std::function<json::Value(json::Value container, ContainerType type)>& edit);

// Where a workload keeps its pod template, e.g. {"spec","jobTemplate","spec","template"} of a
// CronJob; empty for kinds that have none. A Pod itself is not a template.
std::span<const std::string_view> PodTemplatePath(const GroupKind& kind);
// The PodSpec of a pod or of a workload's template, null for other kinds.
json::Value PodSpecOf(const GroupKind& kind, json::Value object);
// {"metadata": …, "spec": …} of a pod or of a workload's template, null for other kinds.
json::Value PodTemplateOf(const GroupKind& kind, json::Value object);

}  // namespace portcullis::api::view
