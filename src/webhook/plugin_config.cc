#include "webhook/plugin_config.h"

#include "admission/config.h"
#include "admission/manifests/manifest_directory.h"
#include "api/field_error.h"
#include "api/schema/decode.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kKind = "WebhookAdmissionConfiguration";
constexpr std::string_view kScheme =
    "k8s.io/apiserver/pkg/admission/plugin/webhook/config/kubeconfig.go:43";

base::Status PathError(std::string_view field, const std::string& value, std::string_view detail) {
  return base::ConfigError(api::Invalid(api::FieldPath(field), value, detail).ToString());
}

}  // namespace

base::Result<WebhookPluginConfig> ReadWebhookPluginConfig(const admission::PluginContext& context) {
  WebhookPluginConfig config;
  if (context.config == nullptr) return config;
  static constexpr std::string_view kFields[] = {"kind", "apiVersion", "kubeConfigFile",
                                                 "staticManifestsDir"};
  TRY(admission::CheckPluginConfiguration(*context.config, kKind, kScheme, kFields));
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
