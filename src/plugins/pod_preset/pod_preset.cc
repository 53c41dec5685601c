// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_preset/pod_preset.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/selector/label_selector.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/edit.h"
#include "plugins/common/make.h"
#include "plugins/common/pod_references.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::pod_preset {
namespace {

constexpr std::string_view kExclude = "podpreset.admission.kubernetes.io/exclude";
constexpr std::string_view kApplied = "podpreset.admission.kubernetes.io/podpreset-";

struct Preset {
  std::string_view name;
  std::string_view version;
  json::Value spec;
};
using Presets = std::vector<Preset>;

// A list that is being merged. Two elements that have one of `keys` in common must be the same.
class Merge {
 public:
  Merge(json::Value list, std::vector<std::string_view> keys) : keys_(std::move(keys)) {
    for (const json::Value& element : list.elements()) elements_.push_back(element);
  }

  // False: a conflict.
  bool Add(json::Value element) {
    for (const json::Value& own : elements_) {
      if (own == element) return true;
    }
    for (const json::Value& own : elements_) {
      for (const std::string_view key : keys_) {
        if (own[key] == element[key]) return false;
      }
    }
    elements_.push_back(element);
    is_changed_ = true;
    return true;
  }
  bool AddAll(const Presets& presets, std::string_view field) {
    return std::all_of(presets.begin(), presets.end(), [&](const Preset& preset) {
      const auto added = preset.spec[field].elements();
      return std::all_of(added.begin(), added.end(),
                         [&](const json::Value& element) { return Add(element); });
    });
  }

  bool is_changed() const { return is_changed_; }
  json::Value Build(json::Arena& arena) const { return json::MakeArray(arena, elements_); }

 private:
  const std::vector<std::string_view> keys_;
  std::vector<json::Value> elements_;
  bool is_changed_ = false;
};

// `owner` with what the presets add to its list `field`; nothing if there is a conflict.
std::optional<json::Value> Merged(json::Arena& arena, json::Value owner, std::string_view field,
                                  const Presets& presets, std::vector<std::string_view> keys) {
  Merge merge(owner[field], std::move(keys));
  if (!merge.AddAll(presets, field)) return std::nullopt;
  return merge.is_changed() ? json::With(arena, owner, field, merge.Build(arena)) : owner;
}

std::optional<json::Value> WithPresets(json::Arena& arena, json::Value container,
                                       const Presets& presets) {
  auto merged = Merged(arena, container, "env", presets, {"name"});
  if (merged) merged = Merged(arena, *merged, "volumeMounts", presets, {"name", "mountPath"});
  return merged ? Merged(arena, *merged, "envFrom", presets, {}) : std::nullopt;
}

// The pod with all presets; nothing if there is a conflict.
std::optional<json::Value> Apply(json::Arena& arena, json::Value pod, const Presets& presets) {
  auto spec = Merged(arena, pod["spec"], "volumes", presets, {"name"});
  for (const std::string_view list : {"initContainers", "containers"}) {
    if (!spec || spec->Find(list) == nullptr) continue;
    json::ArrayBuilder containers(arena);
    for (const json::Value& container : (*spec)[list].elements()) {
      const auto merged = WithPresets(arena, container, presets);
      if (!merged) return std::nullopt;
      containers.Add(*merged);
    }
    spec = json::With(arena, *spec, list, containers.Build());
  }
  if (!spec) return std::nullopt;
  pod = json::With(arena, pod, "spec", *spec);
  for (const Preset& preset : presets) {
    const std::string key = base::StrCat(kApplied, preset.name);
    pod = json::SetPath(arena, pod, {"metadata", "annotations", key},
                        json::String(arena, preset.version));
  }
  return pod;
}

class PodPreset final : public admission::Plugin {
 public:
  explicit PodPreset(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const json::Value pod = request.object();
    const json::Value annotations = pod["metadata"]["annotations"];
    if (common::IsMirrorPod(pod) || annotations[kExclude].AsString() == "true") {
      return base::OkStatus();
    }
    const Presets presets = TRY(Matching(request));
    if (presets.empty()) return base::OkStatus();
    const auto applied = Apply(request.arena(), pod, presets);
    if (applied) {
      request.set_object(*applied);
    } else {
      base::LogWarning("conflict occurred while applying podpresets",
                       {{"namespace", request.namespace_name()}, {"pod", request.name()}});
    }
    return base::OkStatus();
  }

 private:
  // In order of their names.
  base::Result<Presets> Matching(admission::Request& request) const {
    Presets presets;
    const json::Value labels = request.object()["metadata"]["labels"];
    for (const store::ObjectPtr& object :
         common::List(reader_, "settings.k8s.io", "podpresets", request.namespace_name())) {
      const json::Value preset = common::RootOf(request.arena(), object);
      // A selector that is left out is an empty one.
      const json::Value given = preset["spec"]["selector"];
      const auto selector = api::LabelSelector::FromJson(
          given.is_null() ? json::MakeObject(request.arena(), {}) : given);
      if (!selector.ok()) {
        return base::InternalError(
            base::StrCat("label selector conversion failed: ", selector.status().message()));
      }
      if (!selector->Matches(labels)) continue;
      presets.push_back({preset["metadata"]["name"].AsString(),
                         preset["metadata"]["resourceVersion"].AsString(), preset["spec"]});
    }
    return presets;
  }

  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodPreset",
    .summary = "gives new pods what the PodPresets that fit them say",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "pods",
    .reads = "podpresets.settings.k8s.io",
    .by_default = admission::Default::kOff,
    .create = &common::Make<PodPreset>,
    .until_minor = 19,
    .legacy = true,
};

}  // namespace portcullis::plugins::pod_preset
