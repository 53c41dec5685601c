// SPDX-License-Identifier: Apache-2.0

#include "plugins/default_ingress_class/default_ingress_class.h"

#include <string>

#include "plugins/common/default_class.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::default_ingress_class {
namespace {

class DefaultIngressClass final : public admission::Plugin {
 public:
  explicit DefaultIngressClass(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!request.Is("networking.k8s.io", "ingresses")) return base::OkStatus();
    const json::Value ingress = request.object();
    if (!ingress["spec"]["ingressClassName"].is_null() ||
        ingress["metadata"]["annotations"].Has("kubernetes.io/ingress.class")) {
      return base::OkStatus();
    }
    const std::string name = common::DefaultClass(reader_, "networking.k8s.io", "ingressclasses",
                                                  {"ingressclass.kubernetes.io/is-default-class"});
    if (name.empty()) return base::OkStatus();
    json::Arena& arena = request.arena();
    request.set_object(
        json::SetPath(arena, ingress, {"spec", "ingressClassName"}, json::String(arena, name)));
    return base::OkStatus();
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DefaultIngressClass",
    .summary = "gives new Ingresses the default ingress class",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "ingresses.networking.k8s.io",
    .reads = "ingressclasses.networking.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<DefaultIngressClass>,
    .since_minor = 18,
};

}  // namespace portcullis::plugins::default_ingress_class
