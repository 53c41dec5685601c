// SPDX-License-Identifier: Apache-2.0

// The configuration of ImagePolicyWebhook: where the service is, and how long answers hold.
#pragma once

#include <string>

#include "admission/plugin.h"
#include "base/clock.h"
#include "base/status.h"

namespace portcullis::plugins::image_policy_webhook {

struct ImagePolicyConfig {
  std::string kubeconfig_file;
  base::Duration allow_ttl{};
  base::Duration deny_ttl{};
  base::Duration retry_backoff{};
  bool default_allow = false;
};

// Errors: `no config specified`, `valid value is between 1s and 30m0s, got 1h0m0s`.
base::Result<ImagePolicyConfig> ParseConfig(const admission::PluginConfig* config);

}  // namespace portcullis::plugins::image_policy_webhook
