// ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings.

#include "kube_cel/policy_types.h"
#include "registry/default_strategy.h"
#include "registry/expression_checker.h"
#include "registry/strategies/strategies.h"
#include "registry/validation/admission_policies.h"
#include "registry/validation/param_authorization.h"
#include "registry/validation/static_names.h"

namespace portcullis::registry {
namespace {

class PolicyStrategy : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  void Warnings(const Context& ctx, json::Value object,
                std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }

  void UpdateWarnings(const Context& ctx, json::Value object, json::Value,
                      std::vector<std::string>& warnings) const override {
    Warnings(ctx, object, warnings);
  }

  bool AllowUnconditionalUpdate() const override { return false; }
};

class Policies final : public PolicyStrategy {
 public:
  explicit Policies(PolicyKind kind)
      : PolicyStrategy({.has_status = kind == PolicyKind::kValidating, .counts_generation = true}),
        kind_(kind) {}

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateAdmissionPolicy(object, {}, kind_, ctx.expressions, errors);
    CheckStaticName(ctx, object, errors);
    if (errors.empty()) AuthorizeParamKind(ctx, object, {}, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    if (!ctx.subresource.empty()) {
      ValidatePolicyStatus(object["status"], errors);
      return;
    }
    ValidateAdmissionPolicy(object, old, kind_, ctx.expressions, errors);
    if (errors.empty()) AuthorizeParamKind(ctx, object, old, errors);
  }

  json::Value Complete(const Context& ctx, json::Value object) const override {
    if (kind_ != PolicyKind::kValidating || !ctx.checks_policy_types || ctx.dry_run ||
        !kube_cel::NeedsTypeChecking(object)) {
      return object;
    }
    return kube_cel::WithTypeChecking(ctx.arena, *ctx.expressions->compiler(), *ctx.catalog,
                                      object);
  }

 private:
  const PolicyKind kind_;
};

class Bindings final : public PolicyStrategy {
 public:
  explicit Bindings(PolicyKind kind) : PolicyStrategy({.counts_generation = true}), kind_(kind) {}

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateAdmissionPolicyBinding(object, kind_, errors);
    CheckStaticName(ctx, object, errors);
    if (errors.empty()) AuthorizeParamRef(ctx, object, kind_, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value,
                      api::FieldErrors& errors) const override {
    ValidateAdmissionPolicyBinding(object, kind_, errors);
    if (errors.empty()) AuthorizeParamRef(ctx, object, kind_, errors);
  }

 private:
  const PolicyKind kind_;
};

}  // namespace

std::unique_ptr<Strategy> MakeValidatingAdmissionPolicies() {
  return std::make_unique<Policies>(PolicyKind::kValidating);
}
std::unique_ptr<Strategy> MakeValidatingAdmissionPolicyBindings() {
  return std::make_unique<Bindings>(PolicyKind::kValidating);
}
std::unique_ptr<Strategy> MakeMutatingAdmissionPolicies() {
  return std::make_unique<Policies>(PolicyKind::kMutating);
}
std::unique_ptr<Strategy> MakeMutatingAdmissionPolicyBindings() {
  return std::make_unique<Bindings>(PolicyKind::kMutating);
}

}  // namespace portcullis::registry
