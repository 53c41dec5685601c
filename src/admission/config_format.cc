// SPDX-License-Identifier: Apache-2.0

#include "admission/config_format.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::admission {
namespace {

// The document in the order in which Go meets its members: YAML goes through sorted JSON.
base::Result<json::Value> InGoOrder(json::Arena& arena, const PluginConfig& config) {
  const json::Value root = config.document.root();
  if (json::HasJsonPrefix(config.text)) return root;
  return json::Parse(arena, json::ToString(root, {.sort_keys = true}));
}

base::Status CheckTypes(json::Arena& arena, json::Value root, std::string_view types,
                        std::vector<std::string>* unknown) {
  const auto schema = api::schema::SchemaOfGoTypes(types);
  std::string path;
  api::schema::DecodeOptions options;
  options.unknown_fields = unknown;
  options.error_path = &path;
  const auto decoded = api::schema::Decode(arena, *schema, root, options);
  if (decoded.ok()) return base::OkStatus();
  base::Status bad = base::ConfigError(decoded.status().message());
  if (path.empty()) return bad;
  base::StatusDetails details;
  details.causes.push_back({.reason = {}, .message = {}, .field = std::move(path)});
  return bad.WithDetails(std::move(details));
}

base::Status CheckStrict(const PluginConfig& config, std::vector<std::string> unknown) {
  std::erase_if(unknown,
                [](const std::string& name) { return name == "apiVersion" || name == "kind"; });
  std::vector<std::string> texts;
  if (!config.duplicate_yaml_keys.empty()) texts.push_back(config.duplicate_yaml_keys);
  for (std::string& text : api::schema::DecodingWarnings(config.duplicate_fields, unknown)) {
    texts.push_back(std::move(text));
  }
  if (texts.empty()) return base::OkStatus();
  return base::ConfigError("strict decoding error: " + base::Join(texts, ", "));
}

}  // namespace

std::string_view OtherServerKind(const PluginConfig& config, std::string_view own) {
  if (config.document["apiVersion"].AsString() != "apiserver.config.k8s.io/v1") return {};
  const std::string_view kind = config.document["kind"].AsString();
  for (const std::string_view known :
       {"AdmissionConfiguration", "AuthenticationConfiguration", "AuthorizationConfiguration",
        "EncryptionConfiguration", "TracingConfiguration"}) {
    if (kind == known && kind != own) return kind;
  }
  return {};
}

base::Status CheckConfigKind(const PluginConfig& config, const ConfigFormat& format,
                             const release::Release& release) {
  const json::Value root = config.document.root();
  const std::string_view kind = root["kind"].AsString();
  const std::string_view version = root["apiVersion"].AsString();
  const api::GroupVersion parsed = TRY(api::ParseGroupVersion(version));
  if (kind.empty()) {
    return base::ConfigError(base::StrCat("Object 'Kind' is missing in '", config.text, "'"));
  }
  if (parsed.version.empty()) {
    return base::ConfigError(base::StrCat("Object 'apiVersion' is missing in '", config.text, "'"));
  }
  for (const ConfigKind& known : format.kinds) {
    const bool gone = !release.IsWithin(0, known.until_minor);
    if (!gone && known.kind == kind && known.api_version == version) return base::OkStatus();
  }
  return base::ConfigError(api::schema::NotRegistered(kind, version, format.scheme));
}

base::Status CheckConfig(const PluginConfig& config, const ConfigFormat& format,
                         const release::Release& release) {
  if (!config.error.ok()) {
    if (!json::HasJsonPrefix(config.text)) return config.error;
    return api::schema::TypeMetaError(config.error.message());
  }
  TRY(api::schema::CheckTypeMeta(config.document.root()));
  TRY(CheckConfigKind(config, format, release));
  json::Arena arena;
  std::vector<std::string> unknown;
  TRY(CheckTypes(arena, TRY(InGoOrder(arena, config)), format.types, &unknown));
  if (release.minor() < format.strict_since) return base::OkStatus();
  return CheckStrict(config, std::move(unknown));
}

base::Status CheckPlainConfig(const PluginConfig& config, std::string_view types) {
  const bool is_json = json::HasJsonPrefix(config.text);
  if (!config.error.ok()) {
    if (is_json) return config.error;
    return base::ConfigError("error converting YAML to JSON: " + config.error.message());
  }
  json::Arena arena;
  base::Status bad = CheckTypes(arena, TRY(InGoOrder(arena, config)), types, nullptr);
  if (bad.ok() || is_json) return bad;
  return bad.Annotate("error unmarshaling JSON: while decoding JSON");
}

}  // namespace portcullis::admission
