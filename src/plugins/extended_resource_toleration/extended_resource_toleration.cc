#include "plugins/extended_resource_toleration/extended_resource_toleration.h"

#include <set>
#include <string>

#include "api/quota/pods.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::extended_resource_toleration {
namespace {

std::set<std::string> ExtendedResources(json::Value pod_spec) {
  std::set<std::string> names;
  for (std::string_view list : {"containers", "initContainers"}) {
    for (const json::Value& container : pod_spec[list].elements()) {
      for (const json::Member& amount : container["resources"]["requests"].members()) {
        if (api::quota::IsExtendedResourceName(amount.name())) names.emplace(amount.name());
      }
    }
  }
  return names;
}

// Replaces a toleration that differs in nothing but the time, else appends.
json::Value WithToleration(json::Arena& arena, json::Value tolerations, json::Value wanted) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    bool same = true;
    for (std::string_view member : {"key", "operator", "value", "effect"}) {
      same = same && tolerations[i][member].AsString() == wanted[member].AsString();
    }
    if (same && tolerations[i] == wanted) return tolerations;
    if (same) return json::WithElement(arena, tolerations, i, wanted);
  }
  return json::Append(arena, tolerations, wanted);
}

class ExtendedResourceToleration final : public admission::Plugin {
 public:
  explicit ExtendedResourceToleration(const admission::PluginContext&) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const std::set<std::string> names = ExtendedResources(request.object()["spec"]);
    if (names.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    json::Value tolerations = request.object()["spec"]["tolerations"];
    for (const std::string& name : names) {
      const json::Value wanted =
          json::MakeObject(arena, {{"key", json::String(arena, name)},
                                   {"operator", json::Value::StringView("Exists")},
                                   {"effect", json::Value::StringView("NoSchedule")}});
      tolerations = WithToleration(arena, tolerations, wanted);
    }
    request.set_object(
        json::SetPath(arena, request.object(), {"spec", "tolerations"}, tolerations));
    return base::OkStatus();
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ExtendedResourceToleration",
    .summary = "pods tolerate the taints of nodes with the extended resources they request",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate,
    .by_default = admission::Default::kOff,
    .create = &common::Make<ExtendedResourceToleration>,
};

}  // namespace portcullis::plugins::extended_resource_toleration
