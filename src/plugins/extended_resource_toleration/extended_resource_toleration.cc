// SPDX-License-Identifier: Apache-2.0

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

json::Value Wanted(json::Arena& arena, std::string_view resource) {
  return json::MakeObject(arena, {{"key", json::String(arena, resource)},
                                  {"operator", json::Value::StringView("Exists")},
                                  {"effect", json::Value::StringView("NoSchedule")}});
}

// One toleration for each resource: it replaces the first that differs in nothing but the time,
// else it is appended.
json::Value WithTolerations(json::Arena& arena, json::Value tolerations,
                            std::set<std::string> resources) {
  json::ArrayBuilder out(arena);
  for (const json::Value& toleration : tolerations.elements()) {
    const bool alike = toleration["operator"].AsString() == "Exists" &&
                       toleration["value"].AsString().empty() &&
                       toleration["effect"].AsString() == "NoSchedule";
    const auto found =
        alike ? resources.find(std::string(toleration["key"].AsString())) : resources.end();
    out.Add(found == resources.end() ? toleration : Wanted(arena, *found));
    if (found != resources.end()) resources.erase(found);
  }
  for (const std::string& resource : resources) out.Add(Wanted(arena, resource));
  return out.Build();
}

class ExtendedResourceToleration final : public admission::Plugin {
 public:
  explicit ExtendedResourceToleration(const admission::PluginContext&) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("", "pods")) return base::OkStatus();
    const std::set<std::string> names = ExtendedResources(request.object()["spec"]);
    if (names.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    const json::Value tolerations =
        WithTolerations(arena, request.object()["spec"]["tolerations"], names);
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
    .resources = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<ExtendedResourceToleration>,
    .since_minor = 9,
};

}  // namespace portcullis::plugins::extended_resource_toleration
