// SPDX-License-Identifier: Apache-2.0

#include "plugins/mutating_admission_webhook/mutating_admission_webhook.h"

#include <utility>

#include "admission/asks_outside.h"
#include "webhook/mutating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::plugins::mutating_admission_webhook {
namespace {

// Thread-safe.
class MutatingAdmissionWebhook final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit MutatingAdmissionWebhook(std::unique_ptr<webhook::WebhookPluginCore> core)
      : core_(std::move(core)) {}

  base::Status Mutate(admission::Request& request) const override {
    const auto hooks = core_->HooksFor(request);
    if (hooks == nullptr) return base::OkStatus();
    TRY(admission::CheckMayCall(request.recorder()));
    return webhook::DispatchMutating(core_->services(), *hooks, request);
  }

  admission::Waits WaitsOf(const admission::Request& request) const override {
    return core_->WaitsOf(request);
  }

 private:
  const std::unique_ptr<webhook::WebhookPluginCore> core_;
};

base::Result<std::unique_ptr<admission::Plugin>> Create(const admission::PluginContext& context) {
  auto core = TRY(webhook::WebhookPluginCore::Create(context, webhook::HookType::kMutating));
  return std::unique_ptr<admission::Plugin>(
      std::make_unique<MutatingAdmissionWebhook>(std::move(core)));
}

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "MutatingAdmissionWebhook",
    .summary = "calls mutating webhooks one after the other and applies their patches",
    .phases = admission::kMutate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOn,
    .create = &Create,
    .configuration = "apiserver.config.k8s.io/v1 WebhookAdmissionConfiguration",
    .since_minor = 9,
};

}  // namespace portcullis::plugins::mutating_admission_webhook
