// SPDX-License-Identifier: Apache-2.0

#include "plugins/node_declared_feature_validator/node_declared_feature_validator.h"

#include <vector>

#include "admission/errors.h"
#include "api/quota/resources.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"
#include "plugins/common/state.h"

namespace portcullis::plugins::node_declared_feature_validator {
namespace {

bool ResourcesDiffer(json::Value a, json::Value b) {
  for (std::string_view kind : {"requests", "limits"}) {
    if (!api::quota::Equal(api::quota::ReadResources(a[kind]),
                           api::quota::ReadResources(b[kind]))) {
      return true;
    }
  }
  return false;
}

bool InitContainersResized(json::Value before, json::Value after) {
  for (const json::Value& container : after.elements()) {
    if (container["restartPolicy"].AsString() == "Always") continue;
    for (const json::Value& old : before.elements()) {
      if (old["name"].AsString() == container["name"].AsString() &&
          ResourcesDiffer(old["resources"], container["resources"])) {
        return true;
      }
    }
  }
  return false;
}

// Sorted.
std::vector<std::string_view> RequiredFeatures(json::Value before, json::Value after) {
  std::vector<std::string_view> features;
  if (ResourcesDiffer(before["resources"], after["resources"])) {
    features.emplace_back("InPlacePodLevelResourcesVerticalScaling");
  }
  if (InitContainersResized(before["initContainers"], after["initContainers"])) {
    features.emplace_back("InPlacePodVerticalScalingInitContainers");
  }
  return features;
}

bool Declares(json::Value node, std::string_view feature) {
  for (const json::Value& declared : node["status"]["declaredFeatures"].elements()) {
    if (declared.AsString() == feature) return true;
  }
  return false;
}

class NodeDeclaredFeatureValidator final : public admission::Plugin {
 public:
  explicit NodeDeclaredFeatureValidator(const admission::PluginContext& context)
      : reader_(context.reader), enabled_(context.release->GateEnabled("NodeDeclaredFeatures")) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!enabled_ || !request.IsResource("", "pods") ||
        !(request.subresource().empty() || request.subresource() == "resize")) {
      return base::OkStatus();
    }
    const json::Value pod = request.object();
    const json::Value old_pod = request.old_object();
    std::string_view name = pod["spec"]["nodeName"].AsString();
    if (name.empty() ||
        pod["metadata"]["generation"].AsInt() == old_pod["metadata"]["generation"].AsInt()) {
      return base::OkStatus();
    }
    const std::vector<std::string_view> required = RequiredFeatures(old_pod["spec"], pod["spec"]);
    if (required.empty()) return base::OkStatus();
    const json::Value node =
        common::RootOf(request.arena(), common::Find(reader_, "", "nodes", "", name));
    if (node.is_null()) {
      return admission::Forbidden(request,
                                  base::StrCat("node ", base::GoQuote(name), " not found"));
    }
    std::vector<std::string_view> missing;
    for (std::string_view feature : required) {
      if (!Declares(node, feature)) missing.push_back(feature);
    }
    if (missing.empty()) return base::OkStatus();
    return admission::Forbidden(
        request, base::StrCat("pod update requires features ", base::Join(missing, ", "),
                              " which are not available on node ", base::GoQuote(name)));
  }

 private:
  const store::Reader* reader_;
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "NodeDeclaredFeatureValidator",
    .summary = "refuses pod updates that the node does not support",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "pods pods/resize",
    .reads = "nodes",
    .by_default = admission::Default::kOn,
    .create = &common::Make<NodeDeclaredFeatureValidator>,
    .since_minor = 35,
};

}  // namespace portcullis::plugins::node_declared_feature_validator
