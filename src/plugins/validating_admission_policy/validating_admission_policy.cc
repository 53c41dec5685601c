#include "plugins/validating_admission_policy/validating_admission_policy.h"

#include "plugins/common/make.h"
#include "policy/cel_policy/policy_plugin.h"

namespace portcullis::plugins::validating_admission_policy {
namespace {

// Thread-safe.
class ValidatingAdmissionPolicy final : public admission::Plugin {
 public:
  explicit ValidatingAdmissionPolicy(const admission::PluginContext& context)
      : core_(context, policy::PolicyType::kValidating) {}

  base::Status Validate(const admission::Request& request) const override {
    const auto policies = core_.PoliciesFor(request);
    if (policies == nullptr) return base::OkStatus();
    return policy::DispatchValidating(core_.services(), *policies, request);
  }

 private:
  const policy::PolicyPluginCore core_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ValidatingAdmissionPolicy",
    .summary = "asks validating policies written in CEL whether a request may go on",
    .phases = admission::kValidate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOn,
    .create = &common::Make<ValidatingAdmissionPolicy>,
};

}  // namespace portcullis::plugins::validating_admission_policy
