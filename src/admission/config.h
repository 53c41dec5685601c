// SPDX-License-Identifier: Apache-2.0

// Which plugins run and with what configuration: the admission flags of kube-apiserver and the
// AdmissionConfiguration file.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugin.h"
#include "base/status.h"
#include "release/release.h"

namespace portcullis::admission {

// The values of --enable-admission-plugins, --disable-admission-plugins and --admission-control,
// split at commas, in the order given. An unset flag is an empty list.
struct PluginFlags {
  std::vector<std::string> enable;
  std::vector<std::string> disable;
  std::vector<std::string> admission_control;
};

// The plugins to run, in chain order. `all` are in chain order already (plugins/registry.h);
// `known` are names that may be disabled although this build has no such plugin. Plugins that
// `release` does not have are unknown, unless they are legacy ones. Up to v1.9 --admission-control
// gives the order, and without any of the flags there is only AlwaysAdmit (docs/legacy.md).
// Errors: Kubernetes' texts, e.g. `enable-admission-plugins plugin "X" is unknown`.
base::Result<std::vector<const PluginInfo*>> SelectPlugins(
    const PluginFlags& flags, std::span<const PluginInfo* const> all,
    std::span<const std::string_view> known = {},
    const release::Release& release = release::Release::Newest());

// The configuration of each plugin. Immutable after construction.
class PluginConfigs {
 public:
  PluginConfigs() = default;

  // Reads the file of --admission-control-config-file (empty: none) and the files it points to for
  // the plugins in `enabled`. Errors say `failed to read plugin config: `, after the flag and the
  // place of the mistake. Up to v1.31 unknown and repeated fields are passed over.
  static base::Result<PluginConfigs> Load(
      const std::string& path, std::span<const PluginInfo* const> enabled,
      const release::Release& release = release::Release::Newest());
  // The same from text; relative paths are resolved against `directory`.
  static base::Result<PluginConfigs> Parse(
      std::string_view text, const std::string& directory,
      std::span<const PluginInfo* const> enabled,
      const release::Release& release = release::Release::Newest());

  // Null if there is none for that plugin.
  const PluginConfig* For(std::string_view plugin) const;
  void Set(std::string plugin, PluginConfig config);
  // Plugins that the file has entries for and that are not enabled, in its order.
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  // Where the mistake stands: `file:line:column`, or as much as is known; "" if the plugin's
  // configuration comes from no file. Of the mistake, the field of the first cause or else the
  // message is looked at.
  std::string PlaceOf(std::string_view plugin, const base::Status& mistake) const;

 private:
  // Where a plugin's configuration was read.
  struct Source {
    std::string file;               // "": the main one
    std::vector<std::string> root;  // of an inline configuration
  };
  std::map<std::string, Source, std::less<>> sources_;
  std::vector<std::string> passed_over_;
  std::string main_file_;
  std::string main_text_;
  // No value: an entry without configuration.
  std::map<std::string, std::optional<PluginConfig>, std::less<>> configs_;
};

// A PluginConfig from JSON or YAML bytes; never fails, see PluginConfig::error.
PluginConfig ParsePluginConfig(std::string text);

}  // namespace portcullis::admission
