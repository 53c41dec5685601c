// SPDX-License-Identifier: Apache-2.0

#include "webhook/webhook_plugin.h"

#include "admission/object_interfaces.h"
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
  core->services_.metrics = core->metrics_.get();
  const HookCompiler compiler = core->Prepare(context, type, std::move(credentials));
  if (!config.static_manifests_dir.empty()) {
    core->manifests_ =
        TRY(StaticManifests::Create(context, config.static_manifests_dir, type, compiler));
  }
  if (context.feed != nullptr) {
    core->source_ = std::make_unique<HookSource>(*context.feed,
                                                 type == HookType::kMutating
                                                     ? "mutatingwebhookconfigurations"
                                                     : "validatingwebhookconfigurations",
                                                 compiler);
  }
  return core;
}

namespace {

// The client certificate for every hook; null if there is none.
std::shared_ptr<const Credentials> ProxyCredentials(const admission::PluginContext& context) {
  if (context.proxy_client_cert_file.empty()) return nullptr;
  kubeconfig::Config config;
  kubeconfig::User& user = config.users["*"];
  user.client_certificate = context.proxy_client_cert_file;
  user.client_key = context.proxy_client_key_file;
  return std::make_shared<const Credentials>(config);
}

Dialect DialectOf(const admission::PluginContext& context, HookType type) {
  const auto has = [&](std::string_view fact) { return context.release->Has(fact); };
  Dialect dialect;
  dialect.wraps_denials = has("MutatingDenialsAreWrapped");
  dialect.keeps_denial_codes = has("WebhookDenialsKeepTheirCode");
  dialect.says_admission_webhook = has("WebhookErrorsSayAdmission");
  dialect.names_no_step = has("WebhookErrorsNameNoStep");
  dialect.has_capital_absence =
      has("WebhookAbsenceIsCapital") &&
      (type == HookType::kValidating || !has("WebhookAbsenceIsSmallWhereMutating"));
  dialect.reviews_configurations = has("WebhooksReviewConfigurations");
  dialect.v1beta1_reviews = {.has_request_kind = !has("WebhookReviewsNameNoRequestKind"),
                             .has_dry_run = !has("WebhookReviewsHaveNoDryRun"),
                             .has_new_names = !has("CreatesHaveNoName")};
  return dialect;
}

}  // namespace

std::unique_ptr<WebhookPluginCore> WebhookPluginCore::CreateExternal(
    const admission::PluginContext& context) {
  std::unique_ptr<WebhookPluginCore> core(new WebhookPluginCore);
  core->is_external_ = true;
  const HookCompiler compiler =
      core->Prepare(context, HookType::kValidating, ProxyCredentials(context));
  const bool served =
      context.objects != nullptr && !context.objects
                                         ->ResourcesOf({"admissionregistration.k8s.io", "v1alpha1",
                                                        "ExternalAdmissionHookConfiguration"})
                                         .empty();
  if (served && context.feed != nullptr) {
    core->source_ = std::make_unique<HookSource>(*context.feed,
                                                 "externaladmissionhookconfigurations", compiler);
  }
  return core;
}

HookCompiler WebhookPluginCore::Prepare(const admission::PluginContext& context, HookType type,
                                        std::shared_ptr<const Credentials> credentials) {
  services_.objects = context.objects;
  services_.reader = context.reader;
  services_.https = context.https;
  services_.dialect = DialectOf(context, type);
  services_.clock = context.clock != nullptr ? context.clock : &base::SystemClock();
  runs_programs_ = credentials != nullptr && credentials->has_programs();
  endpoints_ = std::make_unique<EndpointCache>(
      EndpointOptions{std::move(credentials), context.services,
                      is_external_ && context.services != nullptr &&
                          context.release->Has("ExternalHooksAreVerifiedByAddress")});
  return {&selectors_, endpoints_.get(), context.conditions};
}

std::shared_ptr<const HookSet> WebhookPluginCore::HooksFor(
    const admission::Request& request) const {
  if (source_ == nullptr) return nullptr;
  admission::Trace* const trace = request.recorder().trace();
  const bool exempt =
      !is_external_ && !services_.dialect.reviews_configurations && IsExempt(request);
  if (exempt && trace != nullptr) {
    trace->SetReason(admission::TraceReason::kExempt,
                     "webhooks of the API are not asked about webhook configurations and policies");
  }
  if (manifests_ == nullptr && exempt) return nullptr;
  auto hooks = manifests_ == nullptr
                   ? source_->Get()
                   : Combine(manifests_->Get(), exempt ? nullptr : source_->Get());
  // A trace says of every webhook why it is not called.
  return hooks->index->Concerns(request) || trace != nullptr ? hooks : nullptr;
}

admission::Waits WebhookPluginCore::WaitsOf(const admission::Request& request) const {
  if (HooksFor(request) == nullptr) return admission::Waits::kForNothing;
  return runs_programs_ ? admission::Waits::kOnThread : admission::Waits::kOnFiber;
}

std::shared_ptr<const HookSet> WebhookPluginCore::Combine(
    std::shared_ptr<const Hooks> manifests, std::shared_ptr<const HookSet> api) const {
  const base::MutexLock lock(mutex_);
  if (combined_.all != nullptr && combined_.manifests == manifests && combined_.api == api) {
    return combined_.all;
  }
  Hooks all = *manifests;
  if (api != nullptr) all.insert(all.end(), api->hooks.begin(), api->hooks.end());
  combined_ = {std::move(manifests), std::move(api), MakeHookSet(std::move(all))};
  return combined_.all;
}

}  // namespace portcullis::webhook
