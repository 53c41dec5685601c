// MutatingWebhookConfiguration and ValidatingWebhookConfiguration: checked like nothing else, since
// a mistake in them stops the whole cluster.

#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"
#include "registry/validation/static_names.h"
#include "registry/validation/webhook_configuration.h"

namespace portcullis::registry {
namespace {

class WebhookConfigurations final : public DefaultStrategy {
 public:
  explicit WebhookConfigurations(WebhookKind kind)
      : DefaultStrategy({.counts_generation = true}), kind_(kind) {}

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateWebhookConfiguration(object, kind_, ctx.expressions, errors);
    CheckStaticName(ctx, object, errors);
  }

  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    ValidateWebhookConfigurationUpdate(object, old, kind_, ctx.expressions, errors);
  }

  void Warnings(const Context& ctx, json::Value object,
                std::vector<std::string>& warnings) const override {
    WarnOfStaticName(ctx, object, warnings);
  }

  void UpdateWarnings(const Context& ctx, json::Value object, json::Value,
                      std::vector<std::string>& warnings) const override {
    Warnings(ctx, object, warnings);
  }

  bool AllowUnconditionalUpdate() const override { return false; }

 private:
  const WebhookKind kind_;
};

}  // namespace

std::unique_ptr<Strategy> MakeMutatingWebhookConfigurations() {
  return std::make_unique<WebhookConfigurations>(WebhookKind::kMutating);
}

std::unique_ptr<Strategy> MakeValidatingWebhookConfigurations() {
  return std::make_unique<WebhookConfigurations>(WebhookKind::kValidating);
}

}  // namespace portcullis::registry
