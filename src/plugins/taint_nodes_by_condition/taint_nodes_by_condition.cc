// SPDX-License-Identifier: Apache-2.0

#include "plugins/taint_nodes_by_condition/taint_nodes_by_condition.h"

#include "plugins/common/make.h"

namespace portcullis::plugins::taint_nodes_by_condition {
namespace {

constexpr std::string_view kTaint = "node.kubernetes.io/not-ready";

class TaintNodesByCondition final : public admission::Plugin {
 public:
  explicit TaintNodesByCondition(const admission::PluginContext&) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "nodes")) return base::OkStatus();
    const json::Value taints = request.object()["spec"]["taints"];
    for (const json::Value& taint : taints.elements()) {
      if (taint["key"].AsString() == kTaint && taint["effect"].AsString() == "NoSchedule") {
        return base::OkStatus();
      }
    }
    json::Arena& arena = request.arena();
    const json::Value taint =
        json::MakeObject(arena, {{"key", json::Value::StringView(kTaint)},
                                 {"effect", json::Value::StringView("NoSchedule")}});
    request.set_object(json::SetPath(arena, request.object(), {"spec", "taints"},
                                     json::Append(arena, taints, taint)));
    return base::OkStatus();
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "TaintNodesByCondition",
    .summary = "new nodes are tainted as not ready",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "nodes",
    .by_default = admission::Default::kOn,
    .create = &common::Make<TaintNodesByCondition>,
    .since_minor = 12,
};

}  // namespace portcullis::plugins::taint_nodes_by_condition
