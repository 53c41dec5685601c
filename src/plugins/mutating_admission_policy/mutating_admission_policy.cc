#include "plugins/mutating_admission_policy/mutating_admission_policy.h"

#include "plugins/common/make.h"
#include "policy/cel_policy/policy_plugin.h"

namespace portcullis::plugins::mutating_admission_policy {
namespace {

// Thread-safe.
class MutatingAdmissionPolicy final : public admission::Plugin {
 public:
  explicit MutatingAdmissionPolicy(const admission::PluginContext& context)
      : core_(context, policy::PolicyType::kMutating) {}

  base::Status Mutate(admission::Request& request) const override {
    const auto policies = core_.PoliciesFor(request);
    if (policies == nullptr) return base::OkStatus();
    return policy::DispatchMutating(core_.services(), *policies, request);
  }

 private:
  const policy::PolicyPluginCore core_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "MutatingAdmissionPolicy",
    .summary = "lets mutating policies written in CEL change the object",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate | admission::kConnect,
    .by_default = admission::Default::kOn,
    .create = &common::Make<MutatingAdmissionPolicy>,
    .since_minor = 32,
};

}  // namespace portcullis::plugins::mutating_admission_policy
