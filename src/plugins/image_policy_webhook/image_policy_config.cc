#include "plugins/image_policy_webhook/image_policy_config.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/strings.h"
#include "plugins/common/config_reader.h"

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
  if (!config->error.ok()) return config->error;
  common::ConfigReader root(config->document.root());
  common::ConfigReader policy = root.Child("imagePolicy");
  ImagePolicyConfig out;
  out.kubeconfig_file = policy.String("kubeConfigFile");
  const std::int64_t allow = policy.Int("allowTTL");
  const std::int64_t deny = policy.Int("denyTTL");
  const std::int64_t backoff = policy.Int("retryBackoff");
  out.default_allow = policy.Bool("defaultAllow");
  TRY(root.Finish());
  out.allow_ttl = TRY(ReadDuration(allow, 1s, kAllowTtl));
  out.deny_ttl = TRY(ReadDuration(deny, 1s, kDenyTtl));
  out.retry_backoff = TRY(ReadDuration(backoff, 1ms, kBackoff));
  if (out.kubeconfig_file.empty()) {
    return base::ConfigError("imagePolicy.kubeConfigFile: must name the kubeconfig of the backend");
  }
  return out;
}

}  // namespace portcullis::plugins::image_policy_webhook
