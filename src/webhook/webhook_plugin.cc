#include "webhook/webhook_plugin.h"

#include "base/clock.h"
#include "webhook/plugin_config.h"

namespace portcullis::webhook {

base::Result<std::unique_ptr<WebhookPluginCore>> WebhookPluginCore::Create(
    const admission::PluginContext& context, HookType type) {
  const WebhookPluginConfig config = TRY(ReadWebhookPluginConfig(context));
  std::shared_ptr<const Credentials> credentials;
  if (!config.kubeconfig_file.empty()) credentials = TRY(Credentials::Load(config.kubeconfig_file));

  std::unique_ptr<WebhookPluginCore> core(new WebhookPluginCore);
  if (context.metrics != nullptr) {
    core->metrics_ = std::make_unique<HookMetrics>(*context.metrics, type);
  }
  core->services_.objects = context.objects;
  core->services_.reader = context.reader;
  core->services_.https = context.https;
  core->services_.clock = context.clock != nullptr ? context.clock : &base::SystemClock();
  core->services_.metrics = core->metrics_.get();
  core->endpoints_ = std::make_unique<EndpointCache>(std::move(credentials), context.services);
  if (context.feed != nullptr) {
    core->source_ = std::make_unique<HookSource>(
        *context.feed,
        type == HookType::kMutating ? "mutatingwebhookconfigurations"
                                    : "validatingwebhookconfigurations",
        HookCompiler{&core->selectors_, core->endpoints_.get(), context.conditions});
  }
  return core;
}

std::shared_ptr<const HookSet> WebhookPluginCore::HooksFor(
    const admission::Request& request) const {
  if (source_ == nullptr || services_.https == nullptr || IsExempt(request)) return nullptr;
  auto hooks = source_->Get();
  return hooks->hooks.empty() ? nullptr : hooks;
}

}  // namespace portcullis::webhook
