// SPDX-License-Identifier: Apache-2.0

#include "plugins/validating_admission_policy/validating_admission_policy.h"

#include "admission/asks_outside.h"
#include "policy/cel_policy/policy_plugin.h"

namespace portcullis::plugins::validating_admission_policy {
namespace {

// Thread-safe.
class ValidatingAdmissionPolicy final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit ValidatingAdmissionPolicy(std::unique_ptr<const policy::PolicyPluginCore> core)
      : core_(std::move(core)) {}

  static base::Result<std::unique_ptr<admission::Plugin>> Make(
      const admission::PluginContext& context) {
    auto core = TRY(policy::PolicyPluginCore::Create(context, policy::PolicyType::kValidating));
    return std::unique_ptr<admission::Plugin>(
        std::make_unique<ValidatingAdmissionPolicy>(std::move(core)));
  }

  base::Status Validate(const admission::Request& request) const override {
    const auto policies = core_->PoliciesFor(request);
    if (policies == nullptr) return base::OkStatus();
    TRY(admission::CheckMayCall(request.recorder()));
    return policy::DispatchValidating(core_->services(), *policies, request);
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    const bool any = core_->PoliciesFor(request) != nullptr;
    return any ? admission::Waits::kOnFiber : admission::Waits::kForNothing;
  }

 private:
  const std::unique_ptr<const policy::PolicyPluginCore> core_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ValidatingAdmissionPolicy",
    .summary = "asks validating policies written in CEL whether a request may go on",
    .phases = admission::kValidate,
    .operations = admission::kAllOperations,
    .reads =
        "namespaces validatingadmissionpolicies.admissionregistration.k8s.io "
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &ValidatingAdmissionPolicy::Make,
    .configuration =
        "ValidatingAdmissionPolicyConfiguration (apiserver.config.k8s.io/v1): staticManifestsDir, "
        "a directory "
        "of policies and bindings that no request can change",
    .since_minor = 26,
};

}  // namespace portcullis::plugins::validating_admission_policy
