// SPDX-License-Identifier: Apache-2.0

// MutatingWebhookConfigurations and ValidatingWebhookConfigurations.

#include "registry/admission/configurations.h"
#include "registry/admission/static_names.h"
#include "registry/admission/webhook_configuration_validation.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

template <WebhookKind kKind>
class Webhooks final : public Configurations {
 public:
  using Configurations::Configurations;

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateWebhookConfiguration(object, CheckOf(ctx), errors);
    CheckStaticName(ctx, object, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    ValidateWebhookConfigurationUpdate(object, old, CheckOf(ctx), errors);
  }

 private:
  static WebhookCheck CheckOf(const Context& ctx) {
    const bool is_old = ctx.resource.version == "v1beta1";
    return {kKind, ctx.expressions, is_old ? WebhookVersion::kV1beta1 : WebhookVersion::kV1,
            ctx.release};
  }
};

}  // namespace

void AddWebhookConfigurationStrategy(KindTable& table) {
  table.Add(
      ConfigurationRow<Webhooks<WebhookKind::kMutating>>("mutatingwebhookconfigurations", true));
  table.Add(ConfigurationRow<Webhooks<WebhookKind::kValidating>>("validatingwebhookconfigurations",
                                                                 true));
}

}  // namespace portcullis::registry
