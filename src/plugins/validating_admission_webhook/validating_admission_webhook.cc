// SPDX-License-Identifier: Apache-2.0

#include "plugins/validating_admission_webhook/validating_admission_webhook.h"

#include <utility>

#include "admission/asks_outside.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::plugins::validating_admission_webhook {
namespace {

// Thread-safe.
class ValidatingAdmissionWebhook final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit ValidatingAdmissionWebhook(std::unique_ptr<webhook::WebhookPluginCore> core)
      : core_(std::move(core)) {}

  base::Status Validate(const admission::Request& request) const override {
    const auto hooks = core_->HooksFor(request);
    if (hooks == nullptr) return base::OkStatus();
    TRY(admission::CheckMayCall(request.recorder()));
    return webhook::DispatchValidating(core_->services(), *hooks, request);
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    return core_->WaitsOf(request);
  }

 private:
  const std::unique_ptr<webhook::WebhookPluginCore> core_;
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  auto core = TRY(webhook::WebhookPluginCore::Create(context, webhook::HookType::kValidating));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<ValidatingAdmissionWebhook>(std::move(core)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ValidatingAdmissionWebhook",
    .summary = "asks validating webhooks, all at once, whether a request may go on",
    .phases = admission::kValidate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOn,
    .create = &Create,
    .configuration = "apiserver.config.k8s.io/v1 WebhookAdmissionConfiguration",
    .since_minor = 9,
};

}  // namespace portcullis::plugins::validating_admission_webhook
