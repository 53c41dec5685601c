#include "cli/plugins_command.h"

#include <cstdio>

#include "base/strings.h"
#include "plugins/listing.h"
#include "plugins/registry.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    "portcullis plugins [-o table|json|markdown]\n"
    "\n"
    "Lists the admission plugins in execution order.\n";

int Usage(std::FILE* stream, int code) {
  std::fputs(std::string(kUsage).c_str(), stream);
  return code;
}

int Run(const std::vector<std::string>& arguments) {
  std::string format = "table";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--help" || argument == "-h") return Usage(stdout, kExitOk);
    if ((argument == "-o" || argument == "--output") && i + 1 < arguments.size()) {
      format = arguments[++i];
    } else if (argument.starts_with("--output=")) {
      format = argument.substr(9);
    } else if (argument == "--json" || argument == "--markdown") {
      format = argument.substr(2);
    } else {
      std::fputs(base::StrCat("Error: unknown argument \"", argument, "\"\n\n").c_str(), stderr);
      return Usage(stderr, kExitUsage);
    }
  }
  const auto plugins = plugins::Registered();
  std::string text;
  if (format == "table") {
    text = plugins::ListingTable(plugins);
  } else if (format == "json") {
    text = plugins::ListingJson(plugins);
  } else if (format == "markdown") {
    text = plugins::ListingMarkdown(plugins);
  } else {
    return Usage(stderr, kExitUsage);
  }
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

const Command kPlugins = {"plugins", "list the built-in plugins", &Run};

}  // namespace portcullis::cli
