// SPDX-License-Identifier: Apache-2.0

#include "plugins/pod_group_protection/pod_group_protection.h"

#include "plugins/common/finalizers.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::pod_group_protection {
namespace {

constexpr std::string_view kFinalizer = "scheduling.k8s.io/podgroup-protection";

class PodGroupProtection final : public admission::Plugin {
 public:
  explicit PodGroupProtection(const admission::PluginContext& context)
      : enabled_(context.release->GateEnabled("GenericWorkload")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!enabled_ || !request.Is("scheduling.k8s.io", "podgroups")) return base::OkStatus();
    common::AddFinalizer(request, kFinalizer);
    return base::OkStatus();
  }

 private:
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PodGroupProtection",
    .summary = "protects PodGroups in use by a finalizer",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "podgroups.scheduling.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<PodGroupProtection>,
    .since_minor = 36,
};

}  // namespace portcullis::plugins::pod_group_protection
