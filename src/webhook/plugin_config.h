// SPDX-License-Identifier: Apache-2.0

// WebhookAdmissionConfiguration: what the two webhook plugins are configured with
// (apiserver.config.k8s.io/v1).
#pragma once

#include <memory>
#include <string>

#include "admission/plugin.h"
#include "base/status.h"
#include "webhook/credentials.h"

namespace portcullis::webhook {

struct WebhookPluginConfig {
  std::string kubeconfig_file;
  std::string static_manifests_dir;
};

// Reads the plugin's configuration strictly; defaults if there is none.
base::Result<WebhookPluginConfig> ReadWebhookPluginConfig(const admission::PluginContext& context);

}  // namespace portcullis::webhook
