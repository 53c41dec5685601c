// SPDX-License-Identifier: Apache-2.0

// Pods: status belongs to the kubelet, and a pod that runs is deleted with a grace period
// (Kubernetes docs: Pod Lifecycle).

#include "api/quota/pod_resources.h"
#include "json/edit.h"
#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/pods/app_armor.h"
#include "registry/pods/pod_disabled_fields.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/pod_warnings.h"
#include "registry/pods/template_warnings.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

std::string_view QosText(json::Value pod) {
  switch (api::quota::QosOf(pod)) {
    case api::quota::QosClass::kGuaranteed:
      return "Guaranteed";
    case api::quota::QosClass::kBurstable:
      return "Burstable";
    case api::quota::QosClass::kBestEffort:
      break;
  }
  return "BestEffort";
}

json::Value Text(std::string_view text) { return json::Value::StringView(text); }

// What a new pod starts with. A pod with gates says at once why it is not scheduled. `qos` is the class
// that the client has set, kept as it is, or "".
json::Value FirstStatus(const Context& ctx, json::Value pod, std::string_view qos) {
  json::Arena& arena = ctx.arena;
  json::ObjectBuilder status(arena);
  status.Set("phase", Text("Pending"));
  if (!pod["spec"]["schedulingGates"].empty()) {
    const json::Value condition = json::MakeObject(
        arena, {{"type", Text("PodScheduled")},
                {"status", Text("False")},
                {"lastProbeTime", json::Value()},
                {"lastTransitionTime", json::String(arena, base::FormatTime(ctx.clock.Now()))},
                {"reason", Text("SchedulingGated")},
                {"message", Text("Scheduling is blocked due to non-empty scheduling gates")}});
    status.Set("conditions", json::MakeArray(arena, {condition}));
  }
  status.Set("qosClass", Text(qos.empty() ? QosText(pod) : qos));
  return status.Build();
}

// Calls `edit` for every element of a list and puts together what it returns.
template <typename Edit>
json::Value ForEach(json::Arena& arena, json::Value list, const Edit& edit) {
  json::ArrayBuilder out(arena);
  for (const json::Value& element : list.elements()) out.Add(edit(element));
  return out.Build();
}

// A selector that also asks for the pod's own values of the labels `keys`.
json::Value WithOwnLabels(json::Arena& arena, json::Value owner, std::string_view keys,
                          std::string_view op, json::Value labels) {
  const json::Value* selector = owner.Find("labelSelector");
  if (owner[keys].empty() || selector == nullptr) return owner;
  json::ArrayBuilder expressions(arena, (*selector)["matchExpressions"]);
  for (const json::Value& key : owner[keys].elements()) {
    const json::Value* value = labels.Find(key.AsString());
    if (value == nullptr) continue;
    expressions.Add(json::MakeObject(
        arena,
        {{"key", key}, {"operator", Text(op)}, {"values", json::MakeArray(arena, {*value})}}));
  }
  if (expressions.size() == 0) return owner;
  return json::With(arena, owner, "labelSelector",
                    json::With(arena, *selector, "matchExpressions", expressions.Build()));
}

// Whether a new pod's own labels go into the selectors of its spread constraints.
bool MergesSpreadKeys(const Context& ctx) {
  return ctx.release->GateEnabled("MatchLabelKeysInPodTopologySpread") &&
         ctx.release->GateEnabled("MatchLabelKeysInPodTopologySpreadSelectorMerge");
}

json::Value ReadAffinityKeys(const Context& ctx, json::Value spec, json::Value labels) {
  json::Arena& arena = ctx.arena;
  const auto read_term = [&](json::Value term) {
    term = WithOwnLabels(arena, term, "matchLabelKeys", "In", labels);
    return WithOwnLabels(arena, term, "mismatchLabelKeys", "NotIn", labels);
  };
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const json::Value affinity = spec["affinity"][kind];
    constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
    constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
    if (!affinity[kRequired].empty()) {
      spec = json::SetPath(arena, spec, {"affinity", kind, kRequired},
                           ForEach(arena, affinity[kRequired], read_term));
    }
    if (!affinity[kPreferred].empty()) {
      const auto read_weighted = [&](json::Value weighted) {
        return json::With(arena, weighted, "podAffinityTerm",
                          read_term(weighted["podAffinityTerm"]));
      };
      spec = json::SetPath(arena, spec, {"affinity", kind, kPreferred},
                           ForEach(arena, affinity[kPreferred], read_weighted));
    }
  }
  const json::Value spread = spec["topologySpreadConstraints"];
  if (!spread.empty() && MergesSpreadKeys(ctx)) {
    const auto read = [&](json::Value constraint) {
      return WithOwnLabels(arena, constraint, "matchLabelKeys", "In", labels);
    };
    spec = json::With(arena, spec, "topologySpreadConstraints", ForEach(arena, spread, read));
  }
  return spec;
}

// The old containers with the new resources. Containers that were renamed or moved are passed on:
// validation refuses them.
json::Value Resized(json::Arena& arena, json::Value containers, json::Value old) {
  json::ArrayBuilder out(arena);
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!(containers[i]["name"] == old[i]["name"])) return containers;
    json::Value container = json::WithMemberOf(arena, old[i], "resources", containers[i]);
    out.Add(json::WithMemberOf(arena, container, "resizePolicy", containers[i]));
  }
  return out.Build();
}

bool SameCounts(json::Value spec, json::Value old) {
  return spec["containers"].size() == old["containers"].size() &&
         spec["initContainers"].size() == old["initContainers"].size();
}

// What each of the subresources that change a spec may change of it.
json::Value OnlyResources(json::Arena& arena, json::Value spec, json::Value old) {
  if (!SameCounts(spec, old)) return spec;
  json::Value result = json::WithMemberOf(arena, old, "resources", spec);
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (old[list].empty()) continue;
    result = json::With(arena, result, list, Resized(arena, spec[list], old[list]));
  }
  return result;
}

class Pods final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    json::Arena& arena = ctx.arena;
    const std::string_view qos = object["status"]["qosClass"].AsString();
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    object = json::Without(arena, object, "status");
    object = json::With(arena, object, "status", FirstStatus(ctx, object, qos));
    object = json::With(arena, object, "spec",
                        ReadAffinityKeys(ctx, object["spec"], object["metadata"]["labels"]));
    return ReadAppArmorAnnotations(arena, object, ctx.warnings);
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    json::Arena& arena = ctx.arena;
    if (ctx.subresource == "status") {
      return WithoutDisabledPodStatus(ctx, NewStatus(arena, object, old), old);
    }
    if (ctx.subresource == "resize" || ctx.subresource == "ephemeralcontainers") {
      const json::Value spec =
          ctx.subresource == "resize"
              ? OnlyResources(arena, object["spec"], old["spec"])
              : json::WithMemberOf(arena, old["spec"], "ephemeralContainers", object["spec"]);
      json::Value metadata = object["metadata"];
      for (const std::string_view name :
           {"deletionTimestamp", "labels", "annotations", "ownerReferences", "finalizers"}) {
        metadata = json::WithMemberOf(arena, metadata, name, old["metadata"]);
      }
      const json::Value sent = object;
      object = json::With(arena, json::With(arena, old, "metadata", metadata), "spec", spec);
      object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
      // Containers that came or went are left to validation, which quotes the status as it was sent.
      const bool refused = ctx.subresource == "resize" && !SameCounts(spec, old["spec"]);
      return refused ? json::WithMemberOf(arena, object, "status", sent) : object;
    }
    return DefaultStrategy::PrepareForUpdate(ctx, object, old);
  }

  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    // What these two leave as it is has its writer as an owner nevertheless.
    if (ctx.subresource == "resize" || ctx.subresource == "ephemeralcontainers") return {};
    auto fields = DefaultStrategy::ResetFields(ctx);
    if (ctx.subresource == "status") {
      fields.insert(fields.end(), {"metadata.deletionTimestamp", "metadata.ownerReferences"});
    }
    return fields;
  }

  std::optional<std::int64_t> GracePeriod(const Context&, json::Value object,
                                          const DeleteRequest& request) const override {
    std::int64_t period = request.grace_period_seconds.value_or(
        object["spec"]["terminationGracePeriodSeconds"].AsInt());
    const std::string_view phase = object["status"]["phase"].AsString();
    // Nothing runs that would need time to stop.
    if (object["spec"]["nodeName"].AsString().empty() || phase == "Failed" ||
        phase == "Succeeded") {
      period = 0;
    }
    if (period < 0) period = 1;
    return period;
  }

 private:
  // What a kubelet that knows less leaves out is kept: the quality of service and which generation
  // was observed.
  static json::Value NewStatus(json::Arena& arena, json::Value object, json::Value old) {
    object = OnlyStatus(arena, object, old);
    // Old kubelets corrupt the owners.
    for (const std::string_view name : {"deletionTimestamp", "ownerReferences"}) {
      const json::Value was = old["metadata"][name];
      object = was.is_null() ? json::RemovePath(arena, object, {"metadata", name})
                             : json::SetPath(arena, object, {"metadata", name}, was);
    }
    const json::Value before = old["status"];
    json::Value status = object["status"];
    for (const std::string_view name : {"qosClass", "observedGeneration"}) {
      if (!status.Has(name) && before.Has(name)) {
        status = json::With(arena, status, name, before[name]);
      }
    }
    if (!status["conditions"].empty()) {
      const auto keep = [&](json::Value condition) {
        for (const json::Value& was : before["conditions"].elements()) {
          if (!(was["type"] == condition["type"])) continue;
          if (condition.Has("observedGeneration") || !was.Has("observedGeneration")) break;
          return json::With(arena, condition, "observedGeneration", was["observedGeneration"]);
        }
        return condition;
      };
      status = json::With(arena, status, "conditions", ForEach(arena, status["conditions"], keep));
    }
    return json::With(arena, object, "status", status);
  }
};

void WarnOfPod(const Context& ctx, json::Value object, json::Value old,
               std::vector<std::string>& warnings) {
  if (!old.is_null()) return;  // updates come from machines
  WarnOfPodName(ctx, object, warnings);
  PodWarnings(object["metadata"], object["spec"], api::FieldPath(), warnings);
}

void WarnOfPodStatus(const Context&, json::Value object, json::Value,
                     std::vector<std::string>& warnings) {
  for (const std::string_view list : {"podIPs", "hostIPs"}) {
    const FieldPath path("status", list);
    std::size_t index = 0;
    for (const json::Value& address : object["status"][list].elements()) {
      WarnOfIp(address["ip"].AsString(), path.Index(index++).Child("ip"), warnings);
    }
  }
}

}  // namespace

void AddPodStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "pods",
             .validate = &ValidatePod,
             .validate_update = &ValidatePodUpdate,
             .warn = &WarnOfPod,
             .warn_of_status = &WarnOfPodStatus,
             .traits = {.counts_generation = true, .returns_deleted = true},
             .metadata = {.update = "UF"},
             .pod_spec = "spec",
             .make = &Make<Pods>});
}

}  // namespace portcullis::registry
