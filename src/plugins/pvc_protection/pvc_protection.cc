// SPDX-License-Identifier: Apache-2.0

#include "plugins/pvc_protection/pvc_protection.h"

#include "plugins/common/finalizers.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::pvc_protection {
namespace {

constexpr std::string_view kFinalizer = "kubernetes.io/pvc-protection";

class PvcProtection final : public admission::Plugin {
 public:
  explicit PvcProtection(const admission::PluginContext& context)
      : enabled_(context.release->GateEnabled("PVCProtection")) {}

  base::Status Mutate(admission::Request& request) const override {
    if (!enabled_ || !request.Is("", "persistentvolumeclaims")) return base::OkStatus();
    common::AddFinalizer(request, kFinalizer);
    return base::OkStatus();
  }

 private:
  const bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "PVCProtection",
    .summary = "protects claims in use by a finalizer",
    .phases = admission::kMutate,
    .operations = admission::kCreate,
    .resources = "persistentvolumeclaims",
    .by_default = admission::Default::kOff,
    .create = &common::Make<PvcProtection>,
    .since_minor = 9,
    .until_minor = 9,
};

}  // namespace portcullis::plugins::pvc_protection
