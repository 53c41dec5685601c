// What configures admission: webhook configurations, policies and their bindings. Checked like
// nothing else, since a mistake in them stops the whole cluster.

#include "api/patch/managed_fields.h"
#include "kube_cel/policy_types.h"
#include "registry/expression_checker.h"
#include "registry/kind_table.h"
#include "registry/validation/admission_policies.h"
#include "registry/validation/param_authorization.h"
#include "registry/validation/static_names.h"
#include "registry/validation/webhook_configuration.h"

namespace portcullis::registry {
namespace {

// Names that files have reserved.
class Configurations : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  void Warnings(const Context& ctx, json::Value object,
                std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }

  void UpdateWarnings(const Context& ctx, json::Value object, json::Value,
                      std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }
};

template <WebhookKind kKind>
class Webhooks final : public Configurations {
 public:
  using Configurations::Configurations;

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateWebhookConfiguration(object, kKind, ctx.expressions, errors);
    CheckStaticName(ctx, object, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    ValidateWebhookConfigurationUpdate(object, old, kKind, ctx.expressions, errors);
  }
};

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
    return ApplyFindings(
        ctx, object,
        kube_cel::WithTypeChecking(ctx.arena, *ctx.expressions->compiler(), *ctx.catalog, object));
  }
};

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

template <typename StrategyOfKind>
Kind Row(std::string_view resource) {
  return {
      .group = "admissionregistration.k8s.io",
      .resource = resource,
      .traits = {.counts_generation = true, .needs_version = true, .status_keeps_metadata = true},
      .make = &Make<StrategyOfKind>};
}

}  // namespace

void AddAdmissionConfigurations(KindTable& table) {
  table.Add(Row<Webhooks<WebhookKind::kMutating>>("mutatingwebhookconfigurations"));
  table.Add(Row<Webhooks<WebhookKind::kValidating>>("validatingwebhookconfigurations"));
  table.Add(Row<Policies<PolicyKind::kMutating>>("mutatingadmissionpolicies"));
  table.Add(Row<Policies<PolicyKind::kValidating>>("validatingadmissionpolicies"));
  table.Add(Row<Bindings<PolicyKind::kMutating>>("mutatingadmissionpolicybindings"));
  table.Add(Row<Bindings<PolicyKind::kValidating>>("validatingadmissionpolicybindings"));
}

}  // namespace portcullis::registry
