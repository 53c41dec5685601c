// SPDX-License-Identifier: Apache-2.0

#include "plugins/deny_exec_on_privileged/deny_exec_on_privileged.h"

#include "plugins/common/exec_denial.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::deny_exec_on_privileged {
namespace {

class DenyExecOnPrivileged final : public admission::Plugin {
 public:
  explicit DenyExecOnPrivileged(const admission::PluginContext& context)
      : reader_(context.reader) {}

  base::Status Validate(const admission::Request& request) const override {
    return common::DenyExec(request, reader_, common::Escalation::kPrivileged);
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DenyExecOnPrivileged",
    .summary = "refuses exec into and attach to privileged pods",
    .phases = admission::kValidate,
    .operations = admission::kConnect,
    .resources = "pods/exec pods/attach",
    .reads = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<DenyExecOnPrivileged>,
    .until_minor = 20,
    .legacy = true,
};

}  // namespace portcullis::plugins::deny_exec_on_privileged
