// SPDX-License-Identifier: Apache-2.0

#include "plugins/generic_admission_webhook/generic_admission_webhook.h"

#include "admission/asks_outside.h"
#include "plugins/common/make.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::plugins::generic_admission_webhook {
namespace {

// Thread-safe.
class GenericAdmissionWebhook final : public admission::Plugin, public admission::AsksOutside {
 public:
  explicit GenericAdmissionWebhook(const admission::PluginContext& context)
      : core_(webhook::WebhookPluginCore::CreateExternal(context)) {}

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

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "GenericAdmissionWebhook",
    .summary = "asks external admission hooks, all at once, whether a request may go on",
    .phases = admission::kValidate,
    .operations = admission::kAllOperations,
    .by_default = admission::Default::kOff,
    .create = &common::Make<GenericAdmissionWebhook>,
    .until_minor = 8,
    .legacy = true,
};

}  // namespace portcullis::plugins::generic_admission_webhook
