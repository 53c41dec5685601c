// SPDX-License-Identifier: Apache-2.0

#include "plugins/image_policy_webhook/image_policy_config.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "admission/config_format.h"
#include "base/strings.h"

namespace portcullis::plugins::image_policy_webhook {
namespace {

using namespace std::chrono_literals;

struct Range {
  base::Duration by_default;
  base::Duration least;
  base::Duration most;
};
constexpr Range kAllowTtl = {5min, 1s, 30min};
constexpr Range kDenyTtl = {30s, 1s, 30min};
constexpr Range kBackoff = {500ms, 1ns, 5min};

constexpr std::string_view kTypes = R"(
imagepolicy.AdmissionConfig: imagePolicy imagepolicy.imagePolicyWebhookConfig
imagepolicy.imagePolicyWebhookConfig: kubeConfigFile string, allowTTL time.Duration=int64, denyTTL time.Duration=int64, retryBackoff time.Duration=int64, defaultAllow bool)";

// 0 stands for the default, -1 for none.
base::Result<base::Duration> ReadDuration(std::int64_t value, base::Duration unit,
                                          const Range& range) {
  if (value == 0) return range.by_default;
  if (value == -1) return base::Duration::zero();
  constexpr std::int64_t kLongest = 1'000'000'000;
  const base::Duration duration = unit * std::clamp(value, -kLongest, kLongest);
  if (duration >= range.least && duration <= range.most) return duration;
  return base::ConfigError(
      base::StrCat("valid value is between ", base::FormatDuration(range.least), " and ",
                   base::FormatDuration(range.most), ", got ", base::FormatDuration(duration)));
}

}  // namespace

base::Result<ImagePolicyConfig> ParseConfig(const admission::PluginConfig* config) {
  if (config == nullptr) return base::ConfigError("no config specified");
  TRY(admission::CheckPlainConfig(*config, kTypes));
  const json::Value policy = config->document["imagePolicy"];
  ImagePolicyConfig out;
  out.kubeconfig_file = policy["kubeConfigFile"].AsString();
  out.default_allow = policy["defaultAllow"].AsBool();
  out.retry_backoff = TRY(ReadDuration(policy["retryBackoff"].AsInt(), 1ms, kBackoff));
  out.allow_ttl = TRY(ReadDuration(policy["allowTTL"].AsInt(), 1s, kAllowTtl));
  out.deny_ttl = TRY(ReadDuration(policy["denyTTL"].AsInt(), 1s, kDenyTtl));
  return out;
}

}  // namespace portcullis::plugins::image_policy_webhook
