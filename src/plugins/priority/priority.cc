// SPDX-License-Identifier: Apache-2.0

#include "plugins/priority/priority.h"

#include <cstdint>
#include <string>
#include <utility>

#include "admission/errors.h"
#include "api/view/metadata.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::priority {
namespace {

constexpr std::string_view kGroup = "scheduling.k8s.io";

// The outcome of looking a class up; `policy` is null if the class has none.
struct Computed {
  std::string class_name;
  std::int64_t value = 0;
  json::Value policy;
};

class Priority final : public admission::Plugin {
 public:
  explicit Priority(const admission::PluginContext& context)
      : reader_(context.reader),
        pod_groups_(context.release->GateEnabled("WorkloadAwarePreemption")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (request.Is("", "pods")) {
      if (request.operation() == admission::kCreate) return AdmitPod(request);
      if (request.operation() == admission::kUpdate) FillFromOldPod(request);
      return base::OkStatus();
    }
    if (pod_groups_ && request.Is(kGroup, "podgroups") &&
        request.operation() == admission::kCreate) {
      return AdmitPodGroup(request);
    }
    return base::OkStatus();
  }

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is(kGroup, "priorityclasses") || request.operation() == admission::kDelete ||
        !request.object()["globalDefault"].AsBool()) {
      return base::OkStatus();
    }
    const json::Value existing = DefaultClass(request.arena());
    if (existing.is_null()) return base::OkStatus();
    std::string_view name = api::view::Metadata(existing).name();
    if (request.operation() == admission::kUpdate &&
        name == api::view::Metadata(request.object()).name()) {
      return base::OkStatus();
    }
    return admission::Forbidden(
        request, base::StrCat("PriorityClass ", name,
                              " is already marked as default. Only one default can exist"));
  }

 private:
  json::Value DefaultClass(json::Arena& arena) const {
    store::ObjectPtr found;
    for (store::ObjectPtr& object : common::List(reader_, kGroup, "priorityclasses")) {
      const json::Document& candidate = object->document();
      if (!candidate["globalDefault"].AsBool()) continue;
      if (found == nullptr || candidate["value"].AsInt() < found->document()["value"].AsInt()) {
        found = std::move(object);
      }
    }
    return common::RootOf(arena, found);
  }

  base::Result<Computed> Compute(admission::Request& request, std::string_view class_name) const {
    json::Arena& arena = request.arena();
    json::Value found;
    if (class_name.empty()) {
      found = DefaultClass(arena);
      if (found.is_null()) return Computed{"", 0, json::Value::StringView("PreemptLowerPriority")};
    } else {
      found =
          common::RootOf(arena, common::Find(reader_, kGroup, "priorityclasses", "", class_name));
      if (found.is_null()) {
        return admission::Forbidden(
            request, base::StrCat("no PriorityClass with name ", class_name, " was found"));
      }
    }
    return Computed{std::string(api::view::Metadata(found).name()), found["value"].AsInt(),
                    found["preemptionPolicy"]};
  }

  base::Status AdmitPod(admission::Request& request) const {
    const json::Value spec = request.object()["spec"];
    const Computed computed = TRY(Compute(request, spec["priorityClassName"].AsString()));
    const json::Value given = spec["priority"];
    if (!given.is_null() && given.AsInt() != computed.value) {
      return admission::Forbidden(
          request,
          base::StrCat("the integer value of priority (", std::to_string(given.AsInt()),
                       ") must not be provided in pod spec; priority admission "
                       "controller computed ",
                       std::to_string(computed.value), " from the given PriorityClass name"));
    }
    const json::Value given_policy = spec["preemptionPolicy"];
    if (!computed.policy.is_null() && !given_policy.is_null() &&
        given_policy.AsString() != computed.policy.AsString()) {
      return admission::Forbidden(
          request, base::StrCat("the string value of PreemptionPolicy (", given_policy.AsString(),
                                ") must not be provided in pod spec; priority admission "
                                "controller computed ",
                                computed.policy.AsString(), " from the given PriorityClass name"));
    }
    json::ObjectBuilder changed(request.arena(), spec);
    if (!computed.class_name.empty()) changed.Set("priorityClassName", computed.class_name);
    changed.Set("priority", computed.value);
    if (!computed.policy.is_null()) changed.Set("preemptionPolicy", computed.policy);
    request.set_object(json::With(request.arena(), request.object(), "spec", changed.Build()));
    return base::OkStatus();
  }

  static void FillFromOldPod(admission::Request& request) {
    const json::Value before = request.old_object()["spec"];
    json::Value pod = request.object();
    for (std::string_view member : {"priority", "preemptionPolicy"}) {
      if (pod["spec"][member].is_null() && !before[member].is_null()) {
        pod = json::SetPath(request.arena(), pod, {"spec", member}, before[member]);
      }
    }
    if (!pod.IsSameAs(request.object())) request.set_object(pod);
  }

  base::Status AdmitPodGroup(admission::Request& request) const {
    const json::Value spec = request.object()["spec"];
    const Computed computed = TRY(Compute(request, spec["priorityClassName"].AsString()));
    const json::Value given = spec["priority"];
    if (!given.is_null() && given.AsInt() != computed.value) {
      return admission::Forbidden(
          request,
          base::StrCat("priority set in the pod group (", std::to_string(given.AsInt()),
                       ") must match the priority computed (", std::to_string(computed.value),
                       ") based on the priority class set in the spec"));
    }
    json::ObjectBuilder changed(request.arena(), spec);
    if (!computed.class_name.empty()) changed.Set("priorityClassName", computed.class_name);
    changed.Set("priority", computed.value);
    request.set_object(json::With(request.arena(), request.object(), "spec", changed.Build()));
    return base::OkStatus();
  }

  const store::Reader* reader_;
  bool pod_groups_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "Priority",
    .summary = "gives pods the priority of their class; allows one default class",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate | admission::kDelete,
    .resources = "pods podgroups.scheduling.k8s.io priorityclasses.scheduling.k8s.io",
    .reads = "priorityclasses.scheduling.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<Priority>,
    .since_minor = 8,
};

}  // namespace portcullis::plugins::priority
