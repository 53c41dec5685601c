// SPDX-License-Identifier: Apache-2.0

#include "plugins/mutating_admission_policy/mutating_admission_policy.h"

#include "admission/asks_outside.h"
#include "policy/cel_policy/policy_plugin.h"

namespace portcullis::plugins::mutating_admission_policy {
namespace {

// Thread-safe.
class MutatingAdmissionPolicy final : public admission::Plugin, public admission::AsksOutside {
 public:
  MutatingAdmissionPolicy(std::unique_ptr<const policy::PolicyPluginCore> core, bool enabled)
      : core_(std::move(core)), enabled_(enabled) {}

  static base::Result<std::unique_ptr<admission::Plugin>> Make(
      const admission::PluginContext& context) {
    auto core = TRY(policy::PolicyPluginCore::Create(context, policy::PolicyType::kMutating));
    const bool enabled = context.release->GateEnabled("MutatingAdmissionPolicy");
    return std::unique_ptr<admission::Plugin>(
        std::make_unique<MutatingAdmissionPolicy>(std::move(core), enabled));
  }

  base::Status Mutate(admission::Request& request) const override {
    if (!enabled_) return base::OkStatus();
    const auto policies = core_->PoliciesFor(request);
    if (policies == nullptr) return base::OkStatus();
    TRY(admission::CheckMayCall(request.recorder()));
    return policy::DispatchMutating(core_->services(), *policies, request);
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    const bool any = enabled_ && core_->PoliciesFor(request) != nullptr;
    return any ? admission::Waits::kOnFiber : admission::Waits::kForNothing;
  }

 private:
  const std::unique_ptr<const policy::PolicyPluginCore> core_;
  const bool enabled_;  // by default since v1.36
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "MutatingAdmissionPolicy",
    .summary = "lets mutating policies written in CEL change the object",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate | admission::kConnect,
    .reads =
        "mutatingadmissionpolicies.admissionregistration.k8s.io "
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io namespaces",
    .by_default = admission::Default::kOn,
    .create = &MutatingAdmissionPolicy::Make,
    .configuration =
        "MutatingAdmissionPolicyConfiguration (apiserver.config.k8s.io/v1): staticManifestsDir, a "
        "directory "
        "of policies and bindings that no request can change",
    .since_minor = 32,
};

}  // namespace portcullis::plugins::mutating_admission_policy
