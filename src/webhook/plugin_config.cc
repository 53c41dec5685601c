// SPDX-License-Identifier: Apache-2.0

#include "webhook/plugin_config.h"

#include "admission/config_format.h"
#include "admission/manifests/manifest_directory.h"
#include "api/field_error.h"
#include "base/strings.h"

namespace portcullis::webhook {
namespace {

constexpr admission::ConfigKind kKinds[] = {
    {"apiserver.config.k8s.io/v1", "WebhookAdmissionConfiguration"},
    {"apiserver.config.k8s.io/v1alpha1", "WebhookAdmission", 35},
};
constexpr admission::ConfigFormat kFormat = {
    .scheme = "k8s.io/apiserver/pkg/admission/plugin/webhook/config/kubeconfig.go:34",
    .kinds = kKinds,
    .types = "v1.WebhookAdmission: kubeConfigFile string, staticManifestsDir string",
    .strict_since = 36,
};

base::Status PathError(std::string_view field, const std::string& value, std::string_view detail) {
  return base::ConfigError(api::Invalid(api::FieldPath(field), value, detail).ToString());
}

}  // namespace

base::Result<WebhookPluginConfig> ReadWebhookPluginConfig(const admission::PluginContext& context) {
  WebhookPluginConfig config;
  if (context.config == nullptr) return config;
  TRY(admission::CheckConfig(*context.config, kFormat, *context.release));
  const json::Value document = context.config->document.root();
  config.kubeconfig_file = document["kubeConfigFile"].AsString();
  config.static_manifests_dir = document["staticManifestsDir"].AsString();
  if (!config.kubeconfig_file.empty() && config.kubeconfig_file.front() != '/') {
    return PathError("kubeConfigFile", config.kubeconfig_file, "must be an absolute file path");
  }
  TRY(admission::CheckManifestsDirectory(context, config.static_manifests_dir));
  return config;
}

}  // namespace portcullis::webhook
