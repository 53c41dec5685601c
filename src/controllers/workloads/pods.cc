// SPDX-License-Identifier: Apache-2.0

#include "controllers/workloads/pods.h"

#include <tuple>

#include "api/condition.h"
#include "base/strings.h"
#include "controllers/workloads/workload.h"

namespace portcullis::controllers::workloads {

using json::Value;

std::string_view PhaseOf(Value pod) { return pod["status"]["phase"].AsString(); }

bool IsFinished(Value pod) {
  const std::string_view phase = PhaseOf(pod);
  return phase == "Succeeded" || phase == "Failed";
}

bool IsActive(Value pod) { return !IsFinished(pod) && !IsEnding(pod); }

bool IsReady(Value pod) { return api::HasTrueCondition(pod, "Ready"); }

bool IsAvailable(Value pod, std::int64_t min_ready_seconds, std::int64_t now,
                 std::optional<base::Duration>& again) {
  if (!IsReady(pod)) return false;
  if (min_ready_seconds == 0) return true;
  const std::int64_t left =
      SecondsOf(api::ConditionOf(pod, "Ready")["lastTransitionTime"]) + min_ready_seconds - now;
  if (left <= 0) return true;
  again = Sooner(again, std::chrono::seconds(left));
  return false;
}

PodCounts CountPods(const std::vector<Value>& pods, std::int64_t min_ready_seconds,
                    std::int64_t now, std::optional<base::Duration>& again) {
  PodCounts counts;
  for (const Value& pod : pods) {
    counts.ready += IsReady(pod) ? 1 : 0;
    counts.available += IsAvailable(pod, min_ready_seconds, now, again) ? 1 : 0;
  }
  return counts;
}

Value PodOf(json::Arena& arena, Value template_, json::ObjectBuilder metadata) {
  for (const std::string_view name : {"labels", "annotations", "finalizers"}) {
    const Value given = template_["metadata"][name];
    if (!given.is_null()) metadata.Set(name, given);
  }
  return json::ObjectBuilder(arena)
      .Set("apiVersion", "v1")
      .Set("kind", "Pod")
      .Set("metadata", metadata.Build())
      .Set("spec", template_["spec"])
      .Build();
}

Value WithLabel(json::Arena& arena, Value template_, std::string_view name,
                std::string_view value) {
  return json::SetPath(arena, template_, {"metadata", "labels", name}, json::String(arena, value));
}

bool GoesBefore(Value a, Value b) {
  const auto rank = [](Value pod) {
    const std::string_view phase = PhaseOf(pod);
    const auto cost =
        base::ParseInt(AnnotationOf(pod, "controller.kubernetes.io/pod-deletion-cost"));
    return std::make_tuple(!pod["spec"]["nodeName"].AsString().empty(),
                           phase == "Running" ? 2 : (phase == "Unknown" ? 1 : 0), IsReady(pod),
                           cost.value_or(0),
                           -SecondsOf(api::ConditionOf(pod, "Ready")["lastTransitionTime"]),
                           -SecondsOf(pod["metadata"]["creationTimestamp"]));
  };
  return rank(a) < rank(b);
}

}  // namespace portcullis::controllers::workloads
