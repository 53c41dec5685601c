// SPDX-License-Identifier: Apache-2.0

// MutatingAdmissionPolicies and ValidatingAdmissionPolicies.

#include "api/patch/managed_fields.h"
#include "api/stored_size.h"
#include "json/writer.h"
#include "kube_cel/policy_types.h"
#include "registry/admission/admission_policy_validation.h"
#include "registry/admission/configurations.h"
#include "registry/admission/param_authorization.h"
#include "registry/admission/static_names.h"
#include "registry/admission/webhook_configuration_validation.h"
#include "registry/expression_checker.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

// The findings as the controller of Kubernetes writes them, by server-side apply on v1:
// managedFields tell of it.
json::Value ApplyFindings(const Context& ctx, json::Value policy, json::Value checked) {
  const api::schema::Schema* schema = ctx.catalog->FindSchema(ctx.kind);
  if (schema == nullptr) return checked;
  const json::Value found = checked["status"];
  json::Value config = json::MakeObject(
      ctx.arena,
      {{"apiVersion", policy["apiVersion"]},
       {"kind", policy["kind"]},
       {"status", json::MakeObject(ctx.arena, {{"observedGeneration", found["observedGeneration"]},
                                               {"typeChecking", found["typeChecking"]}})}});
  config = json::SetPath(ctx.arena, config, {"metadata", "name"}, policy["metadata"]["name"]);
  const std::string now = base::FormatTime(ctx.clock.Now());
  const api::patch::Writer writer{.manager = kube_cel::kTypeCheckingManager,
                                  .api_version = "admissionregistration.k8s.io/v1",
                                  .subresource = "status",
                                  .now = now};
  const auto applied =
      api::patch::Apply(ctx.arena, *schema, policy, config, writer, api::patch::Force::kYes);
  if (!applied.ok()) return checked;
  if (!(*applied)["status"]["typeChecking"].is_null()) return *applied;
  // Where the last warning goes, apply leaves null behind: a pointer to nothing, which is not
  // shown.
  json::ObjectBuilder status(ctx.arena, (*applied)["status"]);
  status.Remove("typeChecking");
  return json::With(ctx.arena, *applied, "status", status.Build());
}

template <PolicyKind kKind>
class Policies final : public Configurations {
 public:
  using Configurations::Configurations;

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateAdmissionPolicy(object, {}, kKind, ctx.expressions, errors);
    CheckStaticName(ctx, object, errors);
    if (errors.empty()) AuthorizeParamKind(ctx, object, {}, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    if (!ctx.subresource.empty()) {
      ValidatePolicyStatus(object["status"], errors);
      return;
    }
    ValidateAdmissionPolicy(object, old, kKind, ctx.expressions, errors);
    if (errors.empty()) AuthorizeParamKind(ctx, object, old, errors);
  }

  json::Value Complete(const Context& ctx, json::Value object) const override {
    if (kKind != PolicyKind::kValidating || !ctx.checks_policy_types || ctx.dry_run ||
        !kube_cel::NeedsTypeChecking(object)) {
      return object;
    }
    const json::Value checked =
        kube_cel::WithTypeChecking(ctx.arena, *ctx.expressions->compiler(), *ctx.catalog, object);
    // The controller of Kubernetes writes findings afterwards. Where etcd does not take them the policy
    // is in force all the same, with a status that says nothing.
    if (json::ToString(checked).size() > api::kMaxRequestBytes) return object;
    return ApplyFindings(ctx, object, checked);
  }
};

}  // namespace

void AddAdmissionPolicyStrategy(KindTable& table) {
  table.Add(ConfigurationRow<Policies<PolicyKind::kMutating>>("mutatingadmissionpolicies"));
  Kind validating =
      ConfigurationRow<Policies<PolicyKind::kValidating>>("validatingadmissionpolicies");
  validating.traits.created_by_apply_status = true;
  table.Add(validating);
}

}  // namespace portcullis::registry
