// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>

#include "base/gotext.h"
#include "base/strings.h"
#include "cli/cel_command.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/diff_command.h"
#include "cli/envtest.h"
#include "cli/exec_command.h"
#include "cli/explain_command.h"
#include "cli/lint_command.h"
#include "cli/manual.h"
#include "cli/plugins_command.h"
#include "cli/record_command.h"
#include "cli/replay_command.h"
#include "cli/schema_import.h"
#include "cli/serve.h"
#include "cli/store_command.h"
#include "cli/test_command.h"
#include "cli/version.h"
#include "cli/webhook_command.h"

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
    "  portcullis exec -- kubectl get ns     a server for one command, gone afterwards\n"
    "  portcullis test deploy/ policies/     what would be admitted, without a server\n"
    "\n"
    "Commands:\n";

constexpr std::string_view kEnd =
    "\n"
    "Exit status: 0 admitted or passed, 1 refused or failed, 2 flags or files are wrong, 3 a "
    "mistake "
    "of ours.\n"
    "\n"
    "portcullis help <command>, or portcullis <command> --help, tells more about one.\n";

std::string RootHelp() {
  std::string text(kIntroduction);
  for (const Command& command : Commands()) {
    std::string name(command.name);
    name.resize(16, ' ');
    text += base::StrCat("  ", name, command.summary, "\n");
  }
  return base::StrCat(text, kEnd);
}

// The names that continue a word: "import" of "schema".
std::vector<std::string_view> Continuations(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command& command : Commands()) {
    const auto cut = base::Cut(command.name, " ");
    if (cut && cut->first == word) names.push_back(cut->second);
  }
  return names;
}

int UnknownCommand(std::span<const std::string> words) {
  std::string name = words[0];
  std::string text;
  const auto more = Continuations(name);
  if (!more.empty() && words.size() > 1) name += base::StrCat(" ", words[1]);
  if (!more.empty() && (words.size() == 1 || words[1].starts_with('-'))) {
    text = base::StrCat("Error: ", base::GoQuote(words[0]),
                        " needs a command of its own: ", base::Join(more, ", "), "\n");
  } else {
    std::vector<std::string_view> names = {"help"};
    for (const Command& command : Commands()) names.push_back(command.name);
    const std::string_view near = base::Nearest(name, names);
    text = base::StrCat("Error: unknown command \"", name, "\" for \"portcullis\"\n");
    if (!near.empty()) text += base::StrCat("\nDid you mean this?\n\t", near, "\n");
  }
  text += "\nRun 'portcullis --help' for usage.\n";
  std::fputs(text.c_str(), stderr);
  return kExitUsage;
}

int Help(std::span<const std::string> words) {
  if (words.empty()) {
    std::fputs(RootHelp().c_str(), stdout);
    return kExitOk;
  }
  std::size_t named = 0;
  const Command* command = FindCommand(words, named);
  return command == nullptr ? UnknownCommand(words) : PrintHelp(*command);
}

}  // namespace

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {
      kServe,        kWebhook,       kExec,         kTest,        kExplain,     kDiff,
      kRecord,       kReplay,        kLint,         kPlugins,     kCel,         kStoreCheck,
      kStoreBackup,  kStoreRestore,  kStoreCompact, kStoreExport, kStoreImport, kStoreGet,
      kSchemaImport, kEnvtestAssets, kCompletion,   kManual,      kVersion,
  };
  return kCommands;
}

const Command* FindCommand(std::span<const std::string> words, std::size_t& named) {
  for (const Command& command : Commands()) {
    const auto parts = base::Split(command.name, ' ');
    if (parts.size() > words.size()) continue;
    if (!std::equal(parts.begin(), parts.end(), words.begin())) continue;
    named = parts.size();
    return &command;
  }
  return nullptr;
}

std::string HelpOf(const Command& command) {
  std::string text(command.usage);
  if (command.flags != nullptr) text += base::StrCat("\n", flags::Help(command.flags()));
  return base::StrCat(text, NotesOf(command));
}

std::string NotesOf(const Command& command) {
  constexpr std::string_view kExitStatus = "Exit status:";
  if (command.usage.find(kExitStatus) != std::string_view::npos ||
      command.notes.find(kExitStatus) != std::string_view::npos) {
    return std::string(command.notes);
  }
  return base::StrCat(command.notes, "\n", kExitStatus,
                      " 0 done, 2 flags or files are wrong, 3 a mistake of ours.\n");
}

int PrintHelp(const Command& command) {
  std::fputs(HelpOf(command).c_str(), stdout);
  return kExitOk;
}

int UsageError(std::string_view command, std::string_view message) {
  std::fputs(
      base::StrCat("Error: ", message, "\n\nRun 'portcullis ", command, " --help' for usage.\n")
          .c_str(),
      stderr);
  return kExitUsage;
}

namespace {

int RunCommand(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (argc > 0) {
    if (const auto code = RunAsAsset(argv[0], words)) return *code;
  }
  if (words.empty() || words[0] == "--help" || words[0] == "-h") return Help({});
  if (words[0] == "help") return Help(std::span(words).subspan(1));
  if (words[0] == "--version") words[0] = "version";
  std::size_t named = 0;
  const Command* command = FindCommand(words, named);
  if (command == nullptr) return UnknownCommand(words);
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(named));
  return command->run(words);
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  const int code = RunCommand(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("Error: standard output cannot be written: it is closed, or its disk is full\n",
             stderr);
  return code == kExitOk ? kExitUsage : code;
}

}  // namespace portcullis::cli
