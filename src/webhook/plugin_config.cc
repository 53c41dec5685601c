#include "webhook/plugin_config.h"

#include "admission/config.h"
#include "api/field_error.h"
#include "api/schema/decode.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kVersion = "apiserver.config.k8s.io/v1";
constexpr std::string_view kKind = "WebhookAdmissionConfiguration";
constexpr std::string_view kScheme =
    "k8s.io/apiserver/pkg/admission/plugin/webhook/config/kubeconfig.go:43";

base::Status CheckKind(json::Value document, const std::string& text) {
  const std::string_view kind = document["kind"].AsString();
  const std::string_view version = document["apiVersion"].AsString();
  if (kind.empty()) {
    return base::ConfigError(base::StrCat("Object 'Kind' is missing in '", text, "'"));
  }
  if (version.empty()) {
    return base::ConfigError(base::StrCat("Object 'apiVersion' is missing in '", text, "'"));
  }
  if (kind == kKind && version == kVersion) return base::OkStatus();
  return base::ConfigError(base::StrCat("no kind ", base::GoQuote(kind),
                                        " is registered for version ", base::GoQuote(version),
                                        " in scheme ", base::GoQuote(kScheme)));
}

base::Status PathError(std::string_view field, const std::string& value, std::string_view detail) {
  return base::ConfigError(api::Invalid(api::FieldPath(field), value, detail).ToString());
}

}  // namespace

base::Result<WebhookPluginConfig> ReadWebhookPluginConfig(const admission::PluginContext& context) {
  WebhookPluginConfig config;
  if (context.config == nullptr) return config;
  TRY(context.config->error);
  const json::Value document = context.config->document.root();
  TRY(CheckKind(document, context.config->text));

  static constexpr std::string_view kFields[] = {"kind", "apiVersion", "kubeConfigFile",
                                                 "staticManifestsDir"};
  if (!context.config->duplicate_yaml_keys.empty()) {
    return base::ConfigError(
        base::StrCat("strict decoding error: ", context.config->duplicate_yaml_keys));
  }
  std::string strict = api::schema::StrictDecodingError(
      context.config->duplicate_fields, admission::UnknownFields(document, "", kFields));
  if (!strict.empty()) return base::ConfigError(std::move(strict));

  config.kubeconfig_file = document["kubeConfigFile"].AsString();
  config.static_manifests_dir = document["staticManifestsDir"].AsString();
  if (!config.kubeconfig_file.empty() && config.kubeconfig_file.front() != '/') {
    return PathError("kubeConfigFile", config.kubeconfig_file, "must be an absolute file path");
  }
  if (!config.static_manifests_dir.empty()) {
    if (!context.GateEnabled("ManifestBasedAdmissionControlConfig", false)) {
      return base::ConfigError(
          "staticManifestsDir: Forbidden: staticManifestsDir requires the "
          "ManifestBasedAdmissionControlConfig feature gate to be enabled");
    }
    if (config.static_manifests_dir.front() != '/') {
      return PathError("staticManifestsDir", config.static_manifests_dir,
                       "must be an absolute file path");
    }
  }
  return config;
}

}  // namespace portcullis::webhook
