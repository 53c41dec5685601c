// SPDX-License-Identifier: Apache-2.0

#include "api/view/pod.h"

#include <array>
#include <utility>
#include <vector>

namespace portcullis::api::view {
namespace {

struct List {
  std::string_view name;
  ContainerType type;
  std::uint32_t hash = json::HashKey(name);

  json::Value In(json::Value pod_spec) const {
    const json::Value* const found = pod_spec.Find(name, hash);
    return found != nullptr ? *found : json::Value();
  }
};
constexpr std::array<List, 3> kLists = {List{"initContainers", ContainerType::kInit},
                                        List{"containers", ContainerType::kContainer},
                                        List{"ephemeralContainers", ContainerType::kEphemeral}};

constexpr std::array<std::string_view, 2> kInSpec = {"spec", "template"};
constexpr std::array<std::string_view, 4> kInJobTemplate = {"spec", "jobTemplate", "spec",
                                                            "template"};
constexpr std::array<std::string_view, 1> kAtTop = {"template"};

}  // namespace

bool VisitContainers(json::Value pod_spec, const FieldPath& spec_path,
                     const std::function<bool(json::Value container, const FieldPath& path,
                                              ContainerType type)>& visit) {
  for (const List& list : kLists) {
    const json::Value containers = list.In(pod_spec);
    if (containers.empty()) continue;
    const FieldPath list_path = spec_path.Child(list.name);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (!visit(containers[i], list_path.Index(i), list.type)) return false;
    }
  }
  return true;
}

json::Value EditContainers(
    json::Arena& arena, json::Value pod_spec,
    const std::function<json::Value(json::Value container, ContainerType type)>& edit) {
  for (const List& list : kLists) {
    const json::Value containers = list.In(pod_spec);
    std::vector<json::Value> edited;
    bool changed = false;
    for (const json::Value& container : containers.elements()) {
      edited.push_back(edit(container, list.type));
      changed = changed || !edited.back().IsSameAs(container);
    }
    if (changed) pod_spec = json::With(arena, pod_spec, list.name, json::MakeArray(arena, edited));
  }
  return pod_spec;
}

std::span<const std::string_view> PodTemplatePath(const GroupKind& kind) {
  const std::string_view name = kind.kind;
  if (kind.group.empty()) {
    if (name == "ReplicationController") return kInSpec;
    if (name == "PodTemplate") return kAtTop;
    return {};
  }
  if (kind.group == "apps") {
    const bool has = name == "Deployment" || name == "ReplicaSet" || name == "StatefulSet" ||
                     name == "DaemonSet";
    return has ? std::span<const std::string_view>(kInSpec) : std::span<const std::string_view>();
  }
  if (kind.group == "batch") {
    if (name == "Job") return kInSpec;
    if (name == "CronJob") return kInJobTemplate;
  }
  return {};
}

json::Value PodTemplateOf(const GroupKind& kind, json::Value object) {
  if (kind.group.empty() && kind.kind == "Pod") return object;
  const auto path = PodTemplatePath(kind);
  if (path.empty()) return {};
  for (const std::string_view step : path) object = object[step];
  return object;
}

json::Value PodSpecOf(const GroupKind& kind, json::Value object) {
  return PodTemplateOf(kind, object)["spec"];
}

}  // namespace portcullis::api::view
