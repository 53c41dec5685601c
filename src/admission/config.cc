// SPDX-License-Identifier: Apache-2.0

#include "admission/config.h"

#include <algorithm>
#include <set>

#include "admission/config_format.h"
#include "admission/config_place.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::admission {
namespace {

constexpr ConfigKind kKinds[] = {{"apiserver.config.k8s.io/v1", "AdmissionConfiguration"},
                                 {"apiserver.k8s.io/v1alpha1", "AdmissionConfiguration"}};
constexpr ConfigFormat kFormat = {
    .scheme = "k8s.io/apiserver/pkg/server/options/admission.go:51",
    .kinds = kKinds,
    .types = R"(
v1.AdmissionConfiguration: plugins []v1.AdmissionPluginConfiguration
v1.AdmissionPluginConfiguration: name string, path string, configuration any)",
    .strict_since = 32,
};

bool Contains(std::span<const std::string> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool IsRegistered(std::span<const PluginInfo* const> registered, std::string_view name) {
  return std::any_of(registered.begin(), registered.end(),
                     [&](const PluginInfo* info) { return info->name == name; });
}

const PluginInfo* Find(std::span<const PluginInfo* const> plugins, std::string_view name) {
  for (const PluginInfo* info : plugins) {
    if (info->name == name) return info;
  }
  return nullptr;
}

// The plugins of a release, among those of all.
struct Plugins {
  std::span<const PluginInfo* const> all;
  std::vector<const PluginInfo*> registered;
  int minor = 0;

  // The hint for a plugin that earlier releases had; empty for any other name.
  std::string WhyUnknown(std::string_view name) const {
    const PluginInfo* const info = Find(all, name);
    if (info == nullptr || info->until_minor == 0 || info->until_minor >= minor) return {};
    return base::StrCat(" (Kubernetes has dropped it with v1.",
                        std::to_string(info->until_minor + 1), ")");
  }
};

// Kubernetes 1.7 to 1.9. A plugin that is named twice runs once, unlike there.
base::Result<std::vector<const PluginInfo*>> InFlagOrder(std::span<const std::string> names,
                                                         const Plugins& plugins) {
  std::vector<const PluginInfo*> selected;
  for (const std::string& name : names) {
    if (name.empty()) {
      base::LogInfo("No admission plugin specified.");
      continue;
    }
    const PluginInfo* info = Find(plugins.registered, name);
    if (info == nullptr) {
      return base::ConfigError(
          base::StrCat("Unknown admission plugin: ", name, plugins.WhyUnknown(name)));
    }
    if (Find(selected, name) == nullptr) selected.push_back(info);
  }
  return selected;
}

base::Status CheckKnown(std::string_view flag, std::span<const std::string> names,
                        const Plugins& plugins, std::span<const std::string_view> known) {
  for (const std::string& name : names) {
    if (IsRegistered(plugins.registered, name)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string hint = plugins.WhyUnknown(name);
    if (hint.empty()) {
      std::vector<std::string_view> candidates(known.begin(), known.end());
      for (const PluginInfo* info : plugins.registered) candidates.push_back(info->name);
      const std::string_view near = base::Nearest(name, candidates);
      if (!near.empty()) hint = base::StrCat(" (did you mean ", near, "?)");
    }
    return base::ConfigError(
        base::StrCat(flag, " plugin ", base::GoQuote(name), " is unknown", hint));
  }
  return base::OkStatus();
}

// A file of before AdmissionConfiguration existed, read by two plugins.
bool IsLegacyFile(json::Value document) {
  return document.is_object() &&
         (document.Has("imagePolicy") || document.Has("podNodeSelectorPluginConfig"));
}

// The field that is wrong, or the message if the error names no field.
std::string_view FieldOrMessage(const base::Status& mistake) {
  const base::StatusDetails* details = mistake.details();
  if (details != nullptr && !details->causes.empty()) return details->causes.front().field;
  return mistake.message();
}

}  // namespace

base::Result<std::vector<const PluginInfo*>> SelectPlugins(const PluginFlags& flags,
                                                           std::span<const PluginInfo* const> all,
                                                           std::span<const std::string_view> known,
                                                           const release::Release& release) {
  Plugins plugins{all, {}, release.legacy_minor()};
  for (const PluginInfo* info : all) {
    if (info->legacy || release.IsWithin(info->since_minor, info->until_minor)) {
      plugins.registered.push_back(info);
    }
  }
  const bool in_flag_order = release.Has("AdmissionControlGivesOrder");
  if (!flags.admission_control.empty()) {
    if (!flags.enable.empty() || !flags.disable.empty()) {
      return base::ConfigError(
          "admission-control and enable-admission-plugins/disable-admission-plugins flags are "
          "mutually exclusive");
    }
    if (in_flag_order) return InFlagOrder(flags.admission_control, plugins);
    TRY(CheckKnown("admission-control", flags.admission_control, plugins, {}));
    std::vector<const PluginInfo*> selected;
    for (const PluginInfo* info : plugins.registered) {
      if (Contains(flags.admission_control, info->name)) selected.push_back(info);
    }
    return selected;
  }

  if (in_flag_order && flags.enable.empty() && flags.disable.empty()) {
    const std::string only[] = {"AlwaysAdmit"};
    return InFlagOrder(only, plugins);
  }
  TRY(CheckKnown("enable-admission-plugins", flags.enable, plugins, {}));
  TRY(CheckKnown("disable-admission-plugins", flags.disable, plugins, known));
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
  for (const PluginInfo* info : plugins.registered) {
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

base::Result<PluginConfigs> PluginConfigs::Load(const std::string& path,
                                                std::span<const PluginInfo* const> enabled,
                                                const release::Release& release) {
  if (path.empty()) return PluginConfigs();
  auto text = base::ReadFile(path);
  if (!text.ok()) {
    return base::ConfigError(base::StrCat(
        "failed to read plugin config: unable to read admission control configuration from ",
        base::GoQuote(path), " [", text.status().message(), "]"));
  }
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const PluginConfig file = ParsePluginConfig(text.value());
  const bool is_other = !CheckConfigKind(file, kFormat, release).ok();
  if (is_other && IsLegacyFile(file.document.root())) {
    PluginConfigs configs;
    for (const PluginInfo* info : enabled) {
      if (info->name == "ImagePolicyWebhook" || info->name == "PodNodeSelector") {
        configs.Set(std::string(info->name), file);
        configs.sources_[std::string(info->name)].file = path;
      }
    }
    return configs;
  }
  auto configs = Parse(*text, directory, enabled, release);
  if (configs.ok()) {
    configs->main_file_ = path;
    configs->main_text_ = *std::move(text);
    return configs;
  }
  // Kubernetes does not say which file it could not read.
  return configs.status().Annotate(
      base::StrCat("--admission-control-config-file=",
                   PlaceOfMistake(path, *text, FieldOrMessage(configs.status()))));
}

base::Result<PluginConfigs> PluginConfigs::Parse(std::string_view text,
                                                 const std::string& directory,
                                                 std::span<const PluginInfo* const> enabled,
                                                 const release::Release& release) {
  constexpr std::string_view kContext = "failed to read plugin config";
  const PluginConfig file = ParsePluginConfig(std::string(text));
  if (const auto bad = CheckConfig(file, kFormat, release); !bad.ok()) {
    return bad.Annotate(kContext);
  }
  const json::Value document = file.document.root();
  const json::WriteOptions as_go_writes = {.sort_keys = !json::HasJsonPrefix(text)};

  PluginConfigs configs;
  std::size_t index = 0;
  for (const json::Value entry : document["plugins"].elements()) {
    const std::string name(entry["name"].AsString());
    const std::string number = std::to_string(index++);
    if (!IsRegistered(enabled, name)) {
      configs.passed_over_.push_back(name);
      continue;
    }
    if (configs.configs_.count(name) != 0) continue;
    if (const json::Value inline_config = entry["configuration"]; !inline_config.is_null()) {
      configs.Set(name, ParsePluginConfig(json::ToString(inline_config, as_go_writes)));
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
    auto bytes = base::ReadFile(path);
    if (!bytes.ok()) {
      return base::ConfigError(base::StrCat("Couldn't open admission plugin configuration ", path,
                                            ": ", bytes.status().message()));
    }
    configs.Set(name, ParsePluginConfig(std::move(bytes).value()));
    configs.sources_[name].file = path;
  }
  return configs;
}

std::string PluginConfigs::PlaceOf(std::string_view plugin, const base::Status& mistake) const {
  const std::string_view message = FieldOrMessage(mistake);
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

}  // namespace portcullis::admission
