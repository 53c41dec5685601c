// SPDX-License-Identifier: Apache-2.0

// What the plugins MutatingAdmissionWebhook, ValidatingAdmissionWebhook and GenericAdmissionWebhook
// have in common: their configuration, credentials, connections, metrics and the webhooks in force.
#pragma once

#include <memory>

#include "admission/asks_outside.h"
#include "admission/plugin.h"
#include "base/mutex.h"
#include "base/status.h"
#include "webhook/configuration.h"
#include "webhook/endpoint.h"
#include "webhook/hook_metrics.h"
#include "webhook/matcher.h"
#include "webhook/static_manifests.h"

namespace portcullis::webhook {

// Thread-safe.
class WebhookPluginCore {
 public:
  static base::Result<std::unique_ptr<WebhookPluginCore>> Create(
      const admission::PluginContext& context, HookType type);
  // Of external admission hooks, which have neither metrics nor exemptions. Without their kind being
  // served there are none.
  static std::unique_ptr<WebhookPluginCore> CreateExternal(const admission::PluginContext& context);

  const Services& services() const { return services_; }
  // The webhooks that may judge this request; null if none of their rules can match.
  std::shared_ptr<const HookSet> HooksFor(const admission::Request& request) const;
  // What their plugin may wait for: see AsksOutside.
  admission::Waits WaitsOf(const admission::Request& request) const;

 private:
  WebhookPluginCore() = default;
  HookCompiler Prepare(const admission::PluginContext& context, HookType type,
                       std::shared_ptr<const Credentials> credentials);

  bool is_external_ = false;
  bool runs_programs_ = false;  // for credentials
  Services services_;
  std::unique_ptr<HookMetrics> metrics_;
  SelectorCache selectors_;
  std::unique_ptr<EndpointCache> endpoints_;
  std::unique_ptr<HookSource> source_;
  std::unique_ptr<StaticManifests> manifests_;  // null unless configured

  // Webhooks of files in front of those of the API, and of what they were put together.
  struct Combined {
    std::shared_ptr<const Hooks> manifests;
    std::shared_ptr<const HookSet> api;
    std::shared_ptr<const HookSet> all;
  };
  std::shared_ptr<const HookSet> Combine(std::shared_ptr<const Hooks> manifests,
                                         std::shared_ptr<const HookSet> api) const;
  mutable base::Mutex mutex_;
  mutable Combined combined_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::webhook
