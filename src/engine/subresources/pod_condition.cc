// SPDX-License-Identifier: Apache-2.0

#include "engine/subresources/pod_condition.h"

namespace portcullis::engine {

json::Value WithTrueCondition(json::Arena& arena, json::Value pod, const PodCondition& condition,
                              const base::Clock& clock) {
  const auto made = [&](json::Value transition) {
    json::ObjectBuilder out(arena);
    out.Set("type", condition.type)
        .Set("status", "True")
        .Set("lastProbeTime", json::Value())
        .Set("lastTransitionTime", transition);
    if (!condition.reason.empty()) out.Set("reason", condition.reason);
    if (!condition.message.empty()) out.Set("message", condition.message);
    return out.Build();
  };
  const json::Value now = json::String(arena, base::FormatTime(clock.Now()));
  json::ArrayBuilder conditions(arena);
  bool found = false;
  for (const json::Value& one : pod["status"]["conditions"].elements()) {
    if (found || one["type"].AsString() != condition.type) {
      conditions.Add(one);
      continue;
    }
    found = true;
    const bool was_true = one["status"].AsString() == "True";
    conditions.Add(made(was_true ? one["lastTransitionTime"] : now));
  }
  if (!found) conditions.Add(made(now));
  return json::SetPath(arena, pod, {"status", "conditions"}, conditions.Build());
}

}  // namespace portcullis::engine
