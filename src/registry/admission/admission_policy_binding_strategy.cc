// SPDX-License-Identifier: Apache-2.0

// MutatingAdmissionPolicyBindings and ValidatingAdmissionPolicyBindings.

#include "registry/admission/admission_policy_validation.h"
#include "registry/admission/configurations.h"
#include "registry/admission/param_authorization.h"
#include "registry/admission/static_names.h"
#include "registry/admission/webhook_configuration_validation.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

template <PolicyKind kKind>
class Bindings final : public Configurations {
 public:
  using Configurations::Configurations;

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateAdmissionPolicyBinding(object, kKind, errors);
    CheckStaticName(ctx, object, errors);
    if (errors.empty()) AuthorizeParamRef(ctx, object, kKind, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value,
                      api::FieldErrors& errors) const override {
    ValidateAdmissionPolicyBinding(object, kKind, errors);
    if (errors.empty()) AuthorizeParamRef(ctx, object, kKind, errors);
  }
};

}  // namespace

void AddAdmissionPolicyBindingStrategy(KindTable& table) {
  table.Add(ConfigurationRow<Bindings<PolicyKind::kMutating>>("mutatingadmissionpolicybindings"));
  table.Add(
      ConfigurationRow<Bindings<PolicyKind::kValidating>>("validatingadmissionpolicybindings"));
}

}  // namespace portcullis::registry
