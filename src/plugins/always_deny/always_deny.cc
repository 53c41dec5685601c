// SPDX-License-Identifier: Apache-2.0

#include "plugins/always_deny/always_deny.h"

#include "admission/errors.h"
#include "base/log.h"

namespace portcullis::plugins::always_deny {
namespace {

class AlwaysDeny final : public admission::Plugin {
 public:
  base::Status Mutate(admission::Request& request) const override { return Refuse(request); }
  base::Status Validate(const admission::Request& request) const override {
    return Refuse(request);
  }

 private:
  static base::Status Refuse(const admission::Request& request) {
    return admission::Forbidden(request, "admission control is denying all modifications");
  }
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext&) {
  base::LogWarning(
      "AlwaysDeny admission controller is deprecated. Please remove this controller from your "
      "configuration files and scripts.");
  return std::unique_ptr<admission::Plugin>(std::make_unique<AlwaysDeny>());
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "AlwaysDeny",
    .summary = "refuses everything; deprecated, for tests",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOff,
    .create = &Create,
};

}  // namespace portcullis::plugins::always_deny
