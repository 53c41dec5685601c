// SPDX-License-Identifier: Apache-2.0

#include "cli/completion.h"

#include <cstdio>
#include <vector>

#include "base/strings.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Prints a script that completes commands and flags in a shell.

Usage:
  portcullis completion bash|zsh|fish

Examples:
  source <(portcullis completion bash)                     this bash
  portcullis completion bash > /etc/bash_completion.d/portcullis
  portcullis completion zsh > "${fpath[1]}/_portcullis"
  portcullis completion fish > ~/.config/fish/completions/portcullis.fish
)";

std::vector<flags::Info> FlagsOf(const Command& command) {
  return command.flags == nullptr ? std::vector<flags::Info>() : command.flags();
}

bool TakesValue(const flags::Info& flag) { return flag.type != flags::Type::kBool; }

// The first line, without what quotes and brackets of the shells would end.
std::string Plain(std::string_view meaning) {
  std::string text(meaning.substr(0, meaning.find('\n')));
  for (const std::string_view special : {"'", "[", "]", "\\", "`", "$"}) {
    text = base::ReplaceAll(text, special, "");
  }
  return text;
}

std::string MeaningOf(const flags::Info& flag) {
  return Plain(flag.note.empty() ? flag.meaning : "accepted without effect");
}

std::string Names(std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const Command& command : commands) names.push_back(command.name);
  return base::StrCat(base::Join(names, " "), " help");
}

std::string Bash(std::span<const Command> commands) {
  std::string script =
      "# bash completion for portcullis\n"
      "_portcullis() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=() line flags\n"
      "  COMPREPLY=()\n"
      "  words=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n"
      "  line=\"${words[*]} \"\n"
      "  case \" $line\" in *\" -- \"*) return ;; esac\n"
      "  case \"$line\" in\n";
  for (const Command& command : commands) {
    std::string flags;
    for (const flags::Info& flag : FlagsOf(command)) {
      flags += base::StrCat("--", flag.name, TakesValue(flag) ? "= " : " ");
    }
    script += base::StrCat("    \"", command.name, " \"*) flags=\"", flags, "--help\" ;;\n");
  }
  script += base::StrCat(
      "    \" \" | \"help \"*)\n"
      "      COMPREPLY=($(compgen -W \"",
      Names(commands),
      "\" -- \"$current\"))\n"
      "      return ;;\n"
      "    *) return ;;\n"
      "  esac\n"
      "  [[ $current == -* ]] || return\n"
      "  COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
      "  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
      "}\n"
      "complete -o default -F _portcullis portcullis\n");
  return script;
}

std::string Zsh(std::span<const Command> commands) {
  std::string names;
  std::string cases;
  for (const Command& command : commands) {
    names += base::StrCat("    '", command.name, ":", Plain(command.summary), "'\n");
    const auto first = base::Cut(command.name, " ");
    cases +=
        base::StrCat("    ", first ? first->first : command.name, ") _arguments '--help[help]'");
    for (const flags::Info& flag : FlagsOf(command)) {
      cases += base::StrCat(" \\\n      '--", flag.name, TakesValue(flag) ? "=[" : "[",
                            base::ReplaceAll(MeaningOf(flag), ":", "\\:"), "]");
      if (TakesValue(flag)) cases += base::StrCat(":", flags::ValueWord(flag), ":_files");
      cases += "'";
    }
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return base::StrCat(
      "#compdef portcullis\n"
      "# zsh completion for portcullis\n"
      "_portcullis() {\n"
      "  local -a commands\n"
      "  commands=(\n",
      names,
      "    'help:tell more about a command'\n"
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case \"$words[2]\" in\n"
      "    help) _describe command commands ;;\n",
      cases,
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _portcullis ]; then _portcullis \"$@\"; else compdef _portcullis "
      "portcullis; fi\n");
}

std::string Fish(std::span<const Command> commands) {
  std::string script =
      "# fish completion for portcullis\n"
      "complete -c portcullis -n __fish_use_subcommand -f -a help -d 'tell more about a command'\n";
  for (const Command& command : commands) {
    const auto parts = base::Cut(command.name, " ");
    const std::string_view first = parts ? parts->first : command.name;
    script += base::StrCat("complete -c portcullis -n __fish_use_subcommand -f -a ", first, " -d '",
                           Plain(command.summary), "'\n");
    if (parts) {
      script += base::StrCat("complete -c portcullis -n '__fish_seen_subcommand_from ", first,
                             "' -f -a ", parts->second, "\n");
    }
    for (const flags::Info& flag : FlagsOf(command)) {
      script += base::StrCat("complete -c portcullis -n '__fish_seen_subcommand_from ", first,
                             "' -l ", flag.name, TakesValue(flag) ? " -r" : "");
      if (flag.shorthand != '\0') script += base::StrCat(" -s ", std::string(1, flag.shorthand));
      script += base::StrCat(" -d '", MeaningOf(flag), "'\n");
    }
  }
  return script;
}

int Run(const std::vector<std::string>& arguments) {
  struct Options {};
  Options options;
  const auto line = flags::Parse<Options>(
      {}, arguments, {"portcullis completion", flags::Arguments::kAny}, options);
  if (!line.ok()) return UsageError(kCompletion.name, line.status().message());
  if (line->help) return PrintHelp(kCompletion);
  const std::string script = line->arguments.size() == 1
                                 ? CompletionScript(line->arguments[0], Commands())
                                 : std::string();
  if (script.empty()) return UsageError(kCompletion.name, "one shell is needed: bash, zsh or fish");
  std::fputs(script.c_str(), stdout);
  return kExitOk;
}

}  // namespace

std::string CompletionScript(std::string_view shell, std::span<const Command> commands) {
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return Zsh(commands);
  if (shell == "fish") return Fish(commands);
  return {};
}

const Command kCompletion = {"completion", "print completion for bash, zsh or fish", &Run, nullptr,
                             kUsage};

}  // namespace portcullis::cli
