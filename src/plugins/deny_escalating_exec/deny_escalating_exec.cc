// SPDX-License-Identifier: Apache-2.0

#include "plugins/deny_escalating_exec/deny_escalating_exec.h"

#include "plugins/common/exec_denial.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::deny_escalating_exec {
namespace {

class DenyEscalatingExec final : public admission::Plugin {
 public:
  explicit DenyEscalatingExec(const admission::PluginContext& context) : reader_(context.reader) {}

  base::Status Validate(const admission::Request& request) const override {
    return common::DenyExec(request, reader_, common::Escalation::kAny);
  }

 private:
  const store::Reader* reader_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "DenyEscalatingExec",
    .summary = "refuses exec and attach where they could reach the host",
    .phases = admission::kValidate,
    .operations = admission::kConnect,
    .resources = "pods/exec pods/attach",
    .reads = "pods",
    .by_default = admission::Default::kOff,
    .create = &common::Make<DenyEscalatingExec>,
    .until_minor = 20,
    .legacy = true,
};

}  // namespace portcullis::plugins::deny_escalating_exec
