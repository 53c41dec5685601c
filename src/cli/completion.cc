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

// A first word of commands, and what may follow it.
struct Word {
  std::string_view first;
  std::string summary;
  std::vector<std::string_view> second;
  bool is_command = false;  // without the second word, too
};

std::vector<Word> WordsOf(std::span<const Command> commands) {
  std::vector<Word> words;
  for (const Command& command : commands) {
    const auto parts = base::Cut(command.name, " ");
    const std::string_view first = parts ? parts->first : command.name;
    if (words.empty() || words.back().first != first) words.push_back({first, {}, {}});
    Word& word = words.back();
    if (parts) word.second.push_back(parts->second);
    word.is_command = !parts;
    word.summary = parts ? base::Join(word.second, ", ") : Plain(command.summary);
    if (first == kCompletion.name) word.second = {"bash", "zsh", "fish"};
  }
  return words;
}

std::string FirstWords(const std::vector<Word>& words) {
  std::string names;
  for (const Word& word : words) names += base::StrCat(word.first, " ");
  return names + "help";
}

std::string Bash(std::span<const Command> commands) {
  const std::vector<Word> words = WordsOf(commands);
  const auto offer = [](std::string_view patterns, std::string_view names) {
    return base::StrCat("    ", patterns, ") COMPREPLY=($(compgen -W \"", names,
                        "\" -- \"$current\")); return ;;\n");
  };
  std::string script =
      "# bash completion for portcullis\n"
      "_portcullis() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=() line flags\n"
      "  COMPREPLY=()\n"
      "  words=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\n"
      "  line=\"${words[*]} \"\n"
      "  case \" $line\" in *\" -- \"*) return ;; esac\n"
      "  case \"$line\" in\n";
  script += offer(R"(" " | "help " | "man ")", FirstWords(words));
  for (const Word& word : words) {
    if (word.second.empty()) continue;
    script += offer(base::StrCat("\"", word.first, " \" | \"help ", word.first, " \" | \"man ",
                                 word.first, " \""),
                    base::Join(word.second, " "));
  }
  for (const Command& command : commands) {
    std::string flags;
    for (const flags::Info& flag : FlagsOf(command)) {
      flags += base::StrCat("--", flag.name, TakesValue(flag) ? "= " : " ");
    }
    script += base::StrCat("    \"", command.name, " \"*) flags=\"", flags, "--help\" ;;\n");
  }
  script +=
      "    *) return ;;\n"
      "  esac\n"
      "  [[ $current == -* ]] || return\n"
      "  COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n"
      "  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
      "}\n"
      "complete -o default -F _portcullis portcullis\n";
  return script;
}

std::string Zsh(std::span<const Command> commands) {
  std::string names;
  std::string seconds;
  std::string groups;
  for (const Word& word : WordsOf(commands)) {
    names += base::StrCat("    '", word.first, ":", word.summary, "'\n");
    if (word.second.empty()) continue;
    seconds += base::StrCat("      ", word.first, ") compadd ", base::Join(word.second, " "),
                            "; return ;;\n");
    if (!word.is_command) {
      groups += base::StrCat(groups.empty() ? "" : " | ", word.first);
    }
  }
  std::string cases;
  for (const Command& command : commands) {
    cases += base::StrCat("    '", command.name, "') _arguments '--help[help]'");
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
      "  local end=${words[(i)--]} name\n"
      "  if (( end < CURRENT )); then\n"  // what `exec` is to run
      "    shift $end words\n"
      "    (( CURRENT -= end ))\n"
      "    _normal\n"
      "    return\n"
      "  fi\n"
      "  if [[ $words[2] == (help|man) ]] && (( CURRENT > 2 )); then\n"
      "    shift words\n"
      "    (( CURRENT -= 1 ))\n"
      "  fi\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  if (( CURRENT == 3 )); then\n"
      "    case $words[2] in\n",
      seconds,
      "    esac\n"
      "  fi\n"
      "  name=$words[2]\n",
      groups.empty() ? ""
                     : base::StrCat("  case $name in ", groups, ") name+=\" $words[3]\" ;; esac\n"),
      "  case $name in\n", cases,
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _portcullis ]; then _portcullis \"$@\"; else compdef _portcullis "
      "portcullis; fi\n");
}

std::string Fish(std::span<const Command> commands) {
  const std::vector<Word> words = WordsOf(commands);
  std::string script =
      "# fish completion for portcullis\n"
      "complete -c portcullis -n __fish_use_subcommand -f -a help -d 'tell more about a command'\n";
  std::string others;
  for (const Word& word : words) {
    if (word.first != "man") others += base::StrCat(" ", word.first);
  }
  script += base::StrCat(
      "complete -c portcullis -n '__fish_seen_subcommand_from help man; and not "
      "__fish_seen_subcommand_from",
      others, "' -f -a '", FirstWords(words), "'\n");
  for (const Word& word : words) {
    script += base::StrCat("complete -c portcullis -n __fish_use_subcommand -f -a ", word.first,
                           " -d '", word.summary, "'\n");
    if (word.second.empty()) continue;
    const std::string second = base::Join(word.second, " ");
    script +=
        base::StrCat("complete -c portcullis -n '__fish_seen_subcommand_from ", word.first,
                     "; and not __fish_seen_subcommand_from ", second, "' -f -a '", second, "'\n");
  }
  for (const Command& command : commands) {
    const std::string condition = base::StrCat(
        "'__fish_seen_subcommand_from ",
        base::ReplaceAll(command.name, " ", "; and __fish_seen_subcommand_from "), "'");
    for (const flags::Info& flag : FlagsOf(command)) {
      script += base::StrCat("complete -c portcullis -n ", condition, " -l ", flag.name,
                             TakesValue(flag) ? " -r" : "");
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
