// SPDX-License-Identifier: Apache-2.0

#include "plugins/listing.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/strings.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "release/release.h"

namespace portcullis::plugins {
namespace {

using admission::PluginInfo;
using Plugins = std::span<const PluginInfo* const>;

std::vector<std::string_view> PhasesOf(const PluginInfo& plugin) {
  std::vector<std::string_view> out;
  if ((plugin.phases & admission::kMutate) != 0) out.emplace_back("mutate");
  if ((plugin.phases & admission::kValidate) != 0) out.emplace_back("validate");
  return out;
}

std::vector<std::string_view> OperationsOf(const PluginInfo& plugin) {
  std::vector<std::string_view> out;
  for (admission::Operation operation :
       {admission::kCreate, admission::kUpdate, admission::kDelete, admission::kConnect}) {
    if ((plugin.operations & operation) != 0) out.push_back(admission::OperationText(operation));
  }
  return out;
}

std::string_view DefaultOf(const PluginInfo& plugin) {
  return plugin.by_default == admission::Default::kOn ? "on" : "off";
}

std::string Release(int minor) { return base::StrCat("1.", std::to_string(minor)); }

// "since 1.33", "until 1.30", or ""; of releases that are served whole.
std::string ReleasesOf(const PluginInfo& plugin) {
  if (plugin.legacy) return base::StrCat("dropped after ", Release(plugin.until_minor));
  if (plugin.since_minor > release::kOldestMinor) return "since " + Release(plugin.since_minor);
  if (plugin.until_minor != 0) return "until " + Release(plugin.until_minor);
  return {};
}

std::string Padded(std::string_view text, std::size_t width) {
  std::string out(text);
  if (out.size() < width) out.resize(width, ' ');
  return out;
}

json::Value ToArray(json::Arena& arena, const std::vector<std::string_view>& texts) {
  json::ArrayBuilder out(arena);
  for (std::string_view text : texts) out.Add(text);
  return out.Build();
}

json::Value ToJson(json::Arena& arena, const PluginInfo& plugin) {
  json::ObjectBuilder out(arena);
  out.Set("name", plugin.name);
  out.Set("phases", ToArray(arena, PhasesOf(plugin)));
  out.Set("operations", ToArray(arena, OperationsOf(plugin)));
  out.Set("default", plugin.by_default == admission::Default::kOn);
  out.Set("summary", plugin.summary);
  if (!plugin.configuration.empty()) out.Set("configuration", plugin.configuration);
  if (plugin.since_minor != 0) out.Set("since", std::string_view(Release(plugin.since_minor)));
  if (plugin.until_minor != 0) out.Set("until", std::string_view(Release(plugin.until_minor)));
  return out.Build();
}

json::Value ToJson(json::Arena& arena, Plugins plugins) {
  json::ArrayBuilder list(arena);
  for (const PluginInfo* plugin : plugins) list.Add(ToJson(arena, *plugin));
  return list.Build();
}

}  // namespace

std::string ListingTable(Plugins plugins) {
  std::size_t name_width = 4;
  std::size_t summary_width = 7;
  for (const PluginInfo* plugin : plugins) {
    name_width = std::max(name_width, plugin->name.size());
    summary_width = std::max(summary_width, plugin->summary.size());
  }
  std::string out;
  const auto add_row = [&](std::string_view name, std::string_view phases, std::string_view on,
                           std::string_view summary, std::string_view configuration) {
    out += base::StrCat(Padded(name, name_width), "  ", Padded(phases, 15), "  ", Padded(on, 7),
                        "  ", Padded(summary, configuration.empty() ? 0 : summary_width),
                        configuration.empty() ? "" : "  ", configuration, "\n");
  };
  add_row("NAME", "PHASES", "DEFAULT", "SUMMARY", "CONFIGURATION");
  for (const PluginInfo* plugin : plugins) {
    add_row(plugin->name, base::Join(PhasesOf(*plugin), ","), DefaultOf(*plugin), plugin->summary,
            plugin->configuration);
  }
  return out;
}

std::string ListingJson(Plugins plugins) {
  json::Arena arena;
  return json::ToString(ToJson(arena, plugins), {.escape_html = false, .indent = 2}) + "\n";
}

std::string ListingYaml(Plugins plugins) {
  json::Arena arena;
  return json::ToYaml(ToJson(arena, plugins));
}

std::string ListingMarkdown(Plugins plugins) {
  std::string out =
      "# Plugins\n\n"
      "<!-- Made by `portcullis plugins -o markdown` from the descriptors in src/plugins. -->\n\n"
      "Admission plugins, in execution order. Enable those that are off by default with "
      "`--enable-admission-plugins`,\ndisable the others with `--disable-admission-plugins`.\n\n"
      "| Plugin | Phases | Operations | Default | What it does | Configuration |\n"
      "|---|---|---|---|---|---|\n";
  for (const PluginInfo* plugin : plugins) {
    const std::string releases = ReleasesOf(*plugin);
    out += base::StrCat("| `", plugin->name, "` | ", base::Join(PhasesOf(*plugin), ", "), " | ",
                        base::Join(OperationsOf(*plugin), ", "), " | ", DefaultOf(*plugin), " | ",
                        plugin->summary, releases.empty() ? "" : " (", releases,
                        releases.empty() ? "" : ")", " | ", plugin->configuration, " |\n");
  }
  return out;
}

}  // namespace portcullis::plugins
