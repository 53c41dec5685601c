// SPDX-License-Identifier: Apache-2.0

#include "cli/plugins_command.h"

#include <cstdio>
#include <string>

#include "base/strings.h"
#include "flags/setters.h"
#include "plugins/listing.h"
#include "plugins/registry.h"
#include "release/release.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Lists the admission plugins in execution order.

Usage:
  portcullis plugins [-o table|json|yaml|markdown] [--kubernetes-version=1.N]
)";

struct Options {
  std::string format = "table";
  std::string kubernetes_version;  // "": all
};

constexpr std::string_view kFormats[] = {"table", "json", "yaml", "markdown"};

constexpr flags::Flag<Options> kFlags[] = {
    {.name = "kubernetes-version",
     .type = flags::Type::kString,
     .default_text = "",
     .meaning = "Only the plugins of this release, 1.7 to 1.36",
     .set = &flags::SetText<&Options::kubernetes_version>,
     .value_name = "1.N"},
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "table",
     .meaning = "Form of the list: table, json, yaml or markdown",
     .set = &flags::SetOneOf<&Options::format, kFormats>,
     .shorthand = 'o',
     .value_name = "FORMAT"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(kFlags, arguments, {"portcullis plugins"}, options);
  if (!line.ok()) return UsageError(kPlugins.name, line.status().message());
  if (line->help) return PrintHelp(kPlugins);
  auto plugins = plugins::Registered();
  if (!options.kubernetes_version.empty()) {
    const auto release = release::Release::Open(options.kubernetes_version);
    if (!release.ok()) return UsageError(kPlugins.name, release.status().message());
    std::erase_if(plugins, [&](const admission::PluginInfo* plugin) {
      return !release->IsWithin(plugin->since_minor, plugin->until_minor);
    });
  }
  const std::string text = options.format == "json"       ? plugins::ListingJson(plugins)
                           : options.format == "yaml"     ? plugins::ListingYaml(plugins)
                           : options.format == "markdown" ? plugins::ListingMarkdown(plugins)
                                                          : plugins::ListingTable(plugins);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

const Command kPlugins = {"plugins", "list the built-in plugins", &Run, &Flags, kUsage};

}  // namespace portcullis::cli
