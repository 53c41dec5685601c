#include "admission/config.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "admission/config_place.h"
#include "api/schema/decode.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::admission {
namespace {

constexpr std::string_view kKind = "AdmissionConfiguration";
constexpr std::string_view kScheme = "k8s.io/apiserver/pkg/server/options/admission.go:<line>";

// The first release that refuses what it does not know.
constexpr int kStrictSince = 32;

bool Contains(std::span<const std::string> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool IsRegistered(std::span<const PluginInfo* const> registered, std::string_view name) {
  return std::any_of(registered.begin(), registered.end(),
                     [&](const PluginInfo* info) { return info->name == name; });
}

base::Status CheckKnown(std::string_view flag, std::span<const std::string> names,
                        std::span<const PluginInfo* const> registered,
                        std::span<const std::string_view> known) {
  for (const std::string& name : names) {
    if (IsRegistered(registered, name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return base::ConfigError(base::StrCat(flag, " plugin ", base::GoQuote(name), " is unknown"));
  }
  return base::OkStatus();
}

base::Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::string reason = std::strerror(errno);
    if (!reason.empty()) reason[0] = static_cast<char>(reason[0] | 0x20);
    return base::ConfigError(base::StrCat("open ", path, ": ", reason));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return base::ConfigError(base::StrCat("read ", path, ": is a directory"));
  return text.str();
}

// Whether the document is of the kind in one of the versions; the error says why it is not.
base::Status CheckKind(json::Value document, std::string_view text, std::string_view wanted,
                       std::initializer_list<std::string_view> versions, std::string_view scheme) {
  const std::string_view kind = document["kind"].AsString();
  const std::string_view version = document["apiVersion"].AsString();
  if (kind.empty()) {
    return base::ConfigError(base::StrCat("Object 'Kind' is missing in '", text, "'"));
  }
  if (version.empty()) {
    return base::ConfigError(base::StrCat("Object 'apiVersion' is missing in '", text, "'"));
  }
  const bool known = std::find(versions.begin(), versions.end(), version) != versions.end();
  if (known && kind == wanted) return base::OkStatus();
  return base::ConfigError(base::StrCat("no kind ", base::GoQuote(kind),
                                        " is registered for version ", base::GoQuote(version),
                                        " in scheme ", base::GoQuote(scheme)));
}

base::Status CheckConfiguration(json::Value document, std::string_view text) {
  return CheckKind(document, text, kKind,
                   {"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"}, kScheme);
}

// A file of before AdmissionConfiguration existed, read by two plugins.
bool IsLegacyFile(json::Value document) {
  return document.is_object() &&
         (document.Has("imagePolicy") || document.Has("podNodeSelectorPluginConfig"));
}

std::string_view GoTypeOf(json::Value value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  return value.is_bool() ? "bool" : "number";
}

base::Status CannotUnmarshal(json::Value value, std::string_view where, std::string_view type) {
  return base::ConfigError(base::StrCat("json: cannot unmarshal ", GoTypeOf(value), " into Go ",
                                        where, " of type ", type));
}

// Nothing that is written down is passed over because it has another type than the field.
base::Status CheckTypes(json::Value document) {
  const json::Value plugins = document["plugins"];
  if (plugins.is_null()) return base::OkStatus();
  if (!plugins.is_array()) {
    return CannotUnmarshal(plugins, "struct field AdmissionConfiguration.plugins",
                           "[]v1.AdmissionPluginConfiguration");
  }
  for (const json::Value plugin : plugins.elements()) {
    if (!plugin.is_null() && !plugin.is_object()) {
      return CannotUnmarshal(plugin, "struct field AdmissionConfiguration.plugins",
                             "v1.AdmissionPluginConfiguration");
    }
    for (const std::string_view field : {"name", "path"}) {
      const json::Value value = plugin[field];
      if (value.is_null() || value.is_string()) continue;
      return CannotUnmarshal(
          value, base::StrCat("struct field AdmissionPluginConfiguration.plugins.", field),
          "string");
    }
  }
  return base::OkStatus();
}

base::Status CheckStrict(json::Value document, const PluginConfig& file) {
  static constexpr std::string_view kTop[] = {"kind", "apiVersion", "plugins"};
  static constexpr std::string_view kPlugin[] = {"name", "path", "configuration"};
  std::vector<std::string> unknown = UnknownFields(document, "", kTop);
  std::size_t index = 0;
  for (const json::Value plugin : document["plugins"].elements()) {
    const std::string prefix = base::StrCat("plugins[", std::to_string(index++), "].");
    const std::vector<std::string> more = UnknownFields(plugin, prefix, kPlugin);
    unknown.insert(unknown.end(), more.begin(), more.end());
  }
  if (!file.duplicate_yaml_keys.empty()) {
    return base::ConfigError(base::StrCat("strict decoding error: ", file.duplicate_yaml_keys));
  }
  std::string text = api::schema::StrictDecodingError(file.duplicate_fields, unknown);
  return text.empty() ? base::OkStatus() : base::ConfigError(std::move(text));
}

}  // namespace

base::Result<std::vector<const PluginInfo*>> SelectPlugins(const PluginFlags& flags,
                                                           std::span<const PluginInfo* const> all,
                                                           std::span<const std::string_view> known,
                                                           int kubernetes_minor) {
  std::vector<const PluginInfo*> registered;
  for (const PluginInfo* info : all) {
    const bool gone = info->until_minor != 0 && kubernetes_minor > info->until_minor;
    if (!gone && kubernetes_minor >= info->since_minor) registered.push_back(info);
  }
  if (!flags.admission_control.empty()) {
    if (!flags.enable.empty() || !flags.disable.empty()) {
      return base::ConfigError(
          "admission-control and enable-admission-plugins/disable-admission-plugins flags are "
          "mutually exclusive");
    }
    TRY(CheckKnown("admission-control", flags.admission_control, registered, {}));
    std::vector<const PluginInfo*> selected;
    for (const PluginInfo* info : registered) {
      if (Contains(flags.admission_control, info->name)) selected.push_back(info);
    }
    return selected;
  }

  TRY(CheckKnown("enable-admission-plugins", flags.enable, registered, {}));
  TRY(CheckKnown("disable-admission-plugins", flags.disable, registered, known));
  std::set<std::string_view> both;
  for (const std::string& name : flags.enable) {
    if (Contains(flags.disable, name)) both.insert(name);
  }
  if (!both.empty()) {
    return base::ConfigError(
        base::StrCat("[", base::Join(both, " "),
                     "] in enable-admission-plugins and disable-admission-plugins overlapped"));
  }
  std::vector<const PluginInfo*> selected;
  for (const PluginInfo* info : registered) {
    const bool on = Contains(flags.enable, info->name) ||
                    (info->by_default == Default::kOn && !Contains(flags.disable, info->name));
    if (on) selected.push_back(info);
  }
  return selected;
}

PluginConfig ParsePluginConfig(std::string text) {
  PluginConfig config;
  config.text = std::move(text);
  auto arena = std::make_shared<json::Arena>();
  json::ParseOptions json_options;
  json_options.duplicate_keys = &config.duplicate_fields;
  auto parsed = json::HasJsonPrefix(config.text)
                    ? json::Parse(*arena, config.text, json_options)
                    : json::ParseYaml(*arena, config.text, {&config.duplicate_yaml_keys});
  if (parsed.ok()) {
    config.document = json::Document(std::move(arena), parsed.value());
  } else {
    config.error = parsed.status();
  }
  return config;
}

std::vector<std::string> UnknownFields(json::Value object, std::string_view prefix,
                                       std::span<const std::string_view> allowed) {
  std::vector<std::string> unknown;
  for (const json::Member& member : object.members()) {
    if (std::find(allowed.begin(), allowed.end(), member.name()) != allowed.end()) continue;
    unknown.push_back(base::StrCat(prefix, member.name()));
  }
  return unknown;
}

base::Result<PluginConfigs> PluginConfigs::Load(const std::string& path,
                                                std::span<const PluginInfo* const> enabled,
                                                int kubernetes_minor) {
  if (path.empty()) return PluginConfigs();
  auto text = ReadFile(path);
  if (!text.ok()) {
    return base::ConfigError(base::StrCat(
        "failed to read plugin config: unable to read admission control configuration from ",
        base::GoQuote(path), " [", text.status().message(), "]"));
  }
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const PluginConfig file = ParsePluginConfig(text.value());
  if (!CheckConfiguration(file.document.root(), *text).ok() && IsLegacyFile(file.document.root())) {
    PluginConfigs configs;
    for (const PluginInfo* info : enabled) {
      if (info->name == "ImagePolicyWebhook" || info->name == "PodNodeSelector") {
        configs.Set(std::string(info->name), file);
        configs.sources_[std::string(info->name)].file = path;
      }
    }
    return configs;
  }
  auto configs = Parse(*text, directory, enabled, kubernetes_minor);
  if (configs.ok()) {
    configs->main_file_ = path;
    configs->main_text_ = *std::move(text);
    return configs;
  }
  // Kubernetes does not say which file it could not read.
  return configs.status().Annotate(base::StrCat(
      "--admission-control-config-file=", PlaceOfMistake(path, *text, configs.status().message())));
}

base::Result<PluginConfigs> PluginConfigs::Parse(std::string_view text,
                                                 const std::string& directory,
                                                 std::span<const PluginInfo* const> enabled,
                                                 int kubernetes_minor) {
  constexpr std::string_view kContext = "failed to read plugin config";
  const PluginConfig file = ParsePluginConfig(std::string(text));
  if (!file.error.ok()) return file.error.Annotate(kContext);
  const json::Value document = file.document.root();
  if (auto bad = CheckConfiguration(document, text); !bad.ok()) return bad.Annotate(kContext);
  if (auto bad = CheckTypes(document); !bad.ok()) return bad.Annotate(kContext);
  if (auto bad = CheckStrict(document, file); kubernetes_minor >= kStrictSince && !bad.ok()) {
    return bad.Annotate(kContext);
  }

  PluginConfigs configs;
  std::size_t index = 0;
  for (const json::Value entry : document["plugins"].elements()) {
    const std::string name(entry["name"].AsString());
    const std::string number = std::to_string(index++);
    if (configs.configs_.count(name) != 0 || !IsRegistered(enabled, name)) continue;
    if (const json::Value inline_config = entry["configuration"]; !inline_config.is_null()) {
      configs.Set(name, ParsePluginConfig(json::ToString(inline_config)));
      configs.sources_[name].root = {"plugins", number, "configuration"};
      continue;
    }
    std::string path(entry["path"].AsString());
    if (path.empty()) {
      // First entry wins, even if it says nothing.
      configs.configs_.try_emplace(name);
      continue;
    }
    if (path.front() != '/') {
      path = base::StrCat(directory, directory.ends_with('/') ? "" : "/", path);
    }
    auto bytes = ReadFile(path);
    if (!bytes.ok()) {
      return base::ConfigError(base::StrCat("Couldn't open admission plugin configuration ", path,
                                            ": ", bytes.status().message()));
    }
    configs.Set(name, ParsePluginConfig(std::move(bytes).value()));
    configs.sources_[name].file = path;
  }
  return configs;
}

std::string PluginConfigs::PlaceOf(std::string_view plugin, std::string_view message) const {
  const auto source = sources_.find(plugin);
  const PluginConfig* config = For(plugin);
  if (source == sources_.end() || config == nullptr) return {};
  if (!source->second.file.empty()) {
    return PlaceOfMistake(source->second.file, config->text, message);
  }
  if (main_file_.empty()) return {};
  return PlaceOfMistake(main_file_, main_text_, message, source->second.root);
}

const PluginConfig* PluginConfigs::For(std::string_view plugin) const {
  const auto found = configs_.find(plugin);
  if (found == configs_.end() || !found->second) return nullptr;
  return &*found->second;
}

void PluginConfigs::Set(std::string plugin, PluginConfig config) {
  configs_[std::move(plugin)] = std::move(config);
}

base::Status CheckPluginConfiguration(const PluginConfig& config, std::string_view kind,
                                      std::string_view scheme,
                                      std::span<const std::string_view> fields) {
  TRY(config.error);
  const json::Value document = config.document.root();
  TRY(CheckKind(document, config.text, kind, {"apiserver.config.k8s.io/v1"}, scheme));
  if (!config.duplicate_yaml_keys.empty()) {
    return base::ConfigError("strict decoding error: " + config.duplicate_yaml_keys);
  }
  std::string strict = api::schema::StrictDecodingError(config.duplicate_fields,
                                                        UnknownFields(document, "", fields));
  return strict.empty() ? base::OkStatus() : base::ConfigError(std::move(strict));
}

}  // namespace portcullis::admission
