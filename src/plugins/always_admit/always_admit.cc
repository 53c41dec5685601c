// SPDX-License-Identifier: Apache-2.0

#include "plugins/always_admit/always_admit.h"

#include "base/log.h"

namespace portcullis::plugins::always_admit {
namespace {

class AlwaysAdmit final : public admission::Plugin {};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext&) {
  base::LogWarning(
      "AlwaysAdmit admission controller is deprecated. Please remove this controller from your "
      "configuration files and scripts.");
  return std::unique_ptr<admission::Plugin>(std::make_unique<AlwaysAdmit>());
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "AlwaysAdmit",
    .summary = "accepts everything; deprecated, has no effect",
    .phases = admission::kMutate | admission::kValidate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOff,
    .create = &Create,
};

}  // namespace portcullis::plugins::always_admit
