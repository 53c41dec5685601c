// SPDX-License-Identifier: Apache-2.0

#include <cstdio>

#include "base/strings.h"
#include "cli/cel_command.h"
#include "cli/command.h"
#include "cli/explain_command.h"
#include "cli/plugins_command.h"
#include "cli/schema_import.h"
#include "cli/serve.h"
#include "cli/test_command.h"
#include "cli/version.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kIntroduction =
    "portcullis is the admission control of Kubernetes as one program.\n"
    "\n"
    "  portcullis serve                      an API server with everything built in, in "
    "./portcullis-data\n"
    "  export KUBECONFIG=portcullis-data/admin.kubeconfig\n"
    "  kubectl get namespaces\n"
    "\n"
    "Commands:\n";

std::string Help() {
  std::string text(kIntroduction);
  for (const Command& command : Commands()) {
    std::string name(command.name);
    name.resize(16, ' ');
    text += base::StrCat("  ", name, command.summary, "\n");
  }
  return text + "\nportcullis <command> --help tells more about one.\n";
}

int UnknownCommand(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::string_view near = base::Nearest(name, names);
  std::string text = base::StrCat("Error: unknown command \"", name, "\" for \"portcullis\"\n");
  if (!near.empty()) text += base::StrCat("\nDid you mean this?\n\t", near, "\n");
  text += "\nRun 'portcullis --help' for usage.\n";
  std::fputs(text.c_str(), stderr);
  return kExitUsage;
}

}  // namespace

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {kServe, kTest,         kExplain, kPlugins,
                                                 kCel,   kSchemaImport, kVersion};
  return kCommands;
}

int UsageError(std::string_view command, std::string_view message) {
  std::fputs(
      base::StrCat("Error: ", message, "\n\nRun 'portcullis ", command, " --help' for usage.\n")
          .c_str(),
      stderr);
  return kExitUsage;
}

int RunProgram(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::fputs(Help().c_str(), stdout);
    return kExitOk;
  }
  if (words[0] == "--version") words[0] = "version";
  for (const Command& command : Commands()) {
    const auto parts = base::Split(command.name, ' ');
    if (parts.size() > words.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < parts.size(); ++i) same = same && words[i] == parts[i];
    if (!same) continue;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(parts.size()));
    return command.run(words);
  }
  return UnknownCommand(words[0]);
}

}  // namespace portcullis::cli
