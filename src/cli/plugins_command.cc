// SPDX-License-Identifier: Apache-2.0

#include "cli/plugins_command.h"

#include <cstdio>
#include <string>

#include "base/strings.h"
#include "flags/setters.h"
#include "plugins/listing.h"
#include "plugins/registry.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Lists the admission plugins in execution order.

Usage:
  portcullis plugins [-o table|json|markdown]

Flags:
)";

struct Options {
  std::string format = "table";
};

constexpr std::string_view kFormats[] = {"table", "json", "markdown"};

constexpr flags::Flag<Options> kFlags[] = {
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "table",
     .meaning = "Form of the list: table, json or markdown",
     .set = &flags::SetOneOf<&Options::format, kFormats>,
     .shorthand = 'o',
     .value_name = "FORMAT"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(kFlags, arguments, {"portcullis plugins"}, options);
  if (!line.ok()) return UsageError(kPlugins.name, line.status().message());
  if (line->help) {
    std::fputs(base::StrCat(kUsage, flags::Help(Flags())).c_str(), stdout);
    return kExitOk;
  }
  const auto plugins = plugins::Registered();
  const std::string text = options.format == "json"       ? plugins::ListingJson(plugins)
                           : options.format == "markdown" ? plugins::ListingMarkdown(plugins)
                                                          : plugins::ListingTable(plugins);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

const Command kPlugins = {"plugins", "list the built-in plugins", &Run, &Flags};

}  // namespace portcullis::cli
