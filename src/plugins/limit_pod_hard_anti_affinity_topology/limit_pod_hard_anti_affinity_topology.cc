// SPDX-License-Identifier: Apache-2.0

#include "plugins/limit_pod_hard_anti_affinity_topology/limit_pod_hard_anti_affinity_topology.h"

#include "api/api_status.h"
#include "api/names.h"
#include "api/view/metadata.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::limit_pod_hard_anti_affinity_topology {
namespace {

class LimitPodHardAntiAffinityTopology final : public admission::Plugin {
 public:
  explicit LimitPodHardAntiAffinityTopology(const admission::PluginContext&) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const json::Value terms = request.object().At(
        {"spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
    for (const json::Value& term : terms.elements()) {
      std::string_view key = term["topologyKey"].AsString();
      if (key == "kubernetes.io/hostname") continue;
      // Named by the pod's own name, which a pod with generateName does not have yet.
      return api::ForbiddenStatus(
          {"", "pods"}, api::view::Metadata(request.object()).name(),
          base::StrCat("affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ", key,
                       " but only key kubernetes.io/hostname is allowed"));
    }
    return base::OkStatus();
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "LimitPodHardAntiAffinityTopology",
    .summary = "required pod anti-affinity may be per host only",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<LimitPodHardAntiAffinityTopology>,
};

}  // namespace portcullis::plugins::limit_pod_hard_anti_affinity_topology
