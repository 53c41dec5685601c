// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_topology_labels/pod_topology_labels.h"

#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::pod_topology_labels {
namespace {

constexpr std::string_view kLabels[] = {"topology.kubernetes.io/zone",
                                        "topology.kubernetes.io/region"};

// The node that the object puts a pod on, or "".
std::string_view NodeOf(const admission::Request& request) {
  const json::Value object = request.object();
  if (request.subresource().empty()) return object["spec"]["nodeName"].AsString();
  if (request.subresource() != "binding") return {};
  const json::Value target = object["target"];
  return target["kind"].AsString() == "Node" ? target["name"].AsString() : std::string_view();
}

class PodTopologyLabels final : public admission::Plugin {
 public:
  explicit PodTopologyLabels(const admission::PluginContext& context)
      : reader_(context.reader),
        enabled_(context.release->GateEnabled("PodTopologyLabelsAdmission")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!enabled_ || !request.IsResource("", "pods")) return base::OkStatus();
    std::string_view name = NodeOf(request);
    if (name.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    const json::Value node = common::RootOf(arena, common::Find(reader_, "", "nodes", "", name));
    json::Value object = request.object();
    for (std::string_view label : kLabels) {
      const json::Value* value = node["metadata"]["labels"].Find(label);
      if (value != nullptr)
        object = json::SetPath(arena, object, {"metadata", "labels", label}, *value);
    }
    if (!object.IsSameAs(request.object())) request.set_object(object);
    return base::OkStatus();
  }

 private:
  const store::Reader* reader_;
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodTopologyLabels",
    .summary = "copies zone and region labels of the node onto bound pods",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "pods pods/binding",
    .reads = "nodes",
    .by_default = admission::Default::kOn,
    .create = &common::Make<PodTopologyLabels>,
    .since_minor = 33,
};

}  // namespace portcullis::plugins::pod_topology_labels
