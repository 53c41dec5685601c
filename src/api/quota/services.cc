// SPDX-License-Identifier: Apache-2.0

#include "api/quota/services.h"

#include <algorithm>
#include <iterator>

namespace portcullis::api::quota {
namespace {

constexpr std::string_view kServiceNames[] = {"count/services", "services", "services.nodeports",
                                              "services.loadbalancers"};

// Ports of a load balancer that take a node port.
std::int64_t LoadBalancerNodePorts(json::Value spec) {
  const json::Value ports = spec["ports"];
  if (spec["allocateLoadBalancerNodePorts"].AsBool(true)) {
    return static_cast<std::int64_t>(ports.size());
  }
  std::int64_t given = 0;
  for (const json::Value& port : ports.elements()) given += port["nodePort"].AsInt() != 0 ? 1 : 0;
  return given;
}

class Services final : public Evaluator {
 public:
  bool Handles(Change, std::string_view subresource, json::Value, json::Value) const override {
    return subresource.empty();
  }

  bool MatchesName(std::string_view name) const override {
    return std::find(std::begin(kServiceNames), std::end(kServiceNames), name) !=
           std::end(kServiceNames);
  }

  Resources Usage(json::Value service) const override {
    const json::Value spec = service["spec"];
    std::string_view type = spec["type"].AsString();
    std::int64_t node_ports = 0;
    if (type == "NodePort") node_ports = static_cast<std::int64_t>(spec["ports"].size());
    if (type == "LoadBalancer") node_ports = LoadBalancerNodePorts(spec);
    return {{"count/services", Quantity::FromInt(1)},
            {"services", Quantity::FromInt(1)},
            {"services.nodeports", Quantity::FromInt(node_ports)},
            {"services.loadbalancers", Quantity::FromInt(type == "LoadBalancer" ? 1 : 0)}};
  }
};

}  // namespace

std::unique_ptr<const Evaluator> MakeServicesEvaluator() { return std::make_unique<Services>(); }

}  // namespace portcullis::api::quota
