// SPDX-License-Identifier: Apache-2.0

// Pods as the controllers of workloads see them: which count, which are ready, how one is made of a
// template (k8s.io/kubernetes/pkg/controller, pkg/api/v1/pod).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "base/clock.h"
#include "json/value.h"

namespace portcullis::controllers::workloads {

inline const api::GroupVersionResource kPods{"", "v1", "pods"};

std::string_view PhaseOf(json::Value pod);
bool IsFinished(json::Value pod);  // Succeeded or Failed
bool IsActive(json::Value pod);    // neither finished nor being deleted
bool IsReady(json::Value pod);

// Whether a pod has been ready for `min_ready_seconds`. If it is ready and has not, `again` is
// brought forward to when it will have been. `now` in seconds since 1970.
bool IsAvailable(json::Value pod, std::int64_t min_ready_seconds, std::int64_t now,
                 std::optional<base::Duration>& again);

// How many of the pods are what; all of them are active.
struct PodCounts {
  std::int64_t ready = 0;
  std::int64_t available = 0;
};
PodCounts CountPods(const std::vector<json::Value>& pods, std::int64_t min_ready_seconds,
                    std::int64_t now, std::optional<base::Duration>& again);

// A pod with the labels, annotations, finalizers and the spec of `template_`; `metadata` has its
// name or generateName, its namespace and owner.
json::Value PodOf(json::Arena& arena, json::Value template_, json::ObjectBuilder metadata);

// The template with one more label.
json::Value WithLabel(json::Arena& arena, json::Value template_, std::string_view name,
                      std::string_view value);

// Which of two pods goes first when there are too many: those without a node, that do not run,
// that are not ready, that cost less to delete (`controller.kubernetes.io/pod-deletion-cost`),
// that are younger.
bool GoesBefore(json::Value a, json::Value b);

}  // namespace portcullis::controllers::workloads
