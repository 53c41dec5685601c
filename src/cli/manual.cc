// SPDX-License-Identifier: Apache-2.0

#include "cli/manual.h"

#include <cstdio>
#include <vector>

#include "base/strings.h"
#include "build_info/build_info.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Prints the manual page of a command, or without one the page of the program.

Usage:
  portcullis man [COMMAND]

Examples:
  portcullis man serve | man -l -
  portcullis man schema import > portcullis-schema-import.1
)";

// Text as roff takes it: no line is a request, and hyphens are those of the keyboard.
std::string Escape(std::string_view text) {
  std::string out = base::ReplaceAll(base::ReplaceAll(text, "\\", "\\e"), "-", "\\-");
  for (const std::string_view request : {".", "'"}) {
    if (out.starts_with(request)) out.insert(0, "\\&");
    out = base::ReplaceAll(out, base::StrCat("\n", request), base::StrCat("\n\\&", request));
  }
  return out;
}

// The parts of a usage text.
struct Usage {
  std::string description;
  std::string synopsis;
  std::string examples;
};

Usage Divide(std::string_view text) {
  Usage usage;
  std::string* part = &usage.description;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (line == "Usage:") {
      part = &usage.synopsis;
    } else if (line == "Examples:") {
      part = &usage.examples;
    } else {
      // What follows the indented lines of the synopsis is description again.
      if (part == &usage.synopsis && !line.empty() && line[0] != ' ') part = &usage.description;
      *part += base::StrCat(line, "\n");
    }
  }
  return usage;
}

// Lines that stay as they are.
std::string Literal(std::string_view heading, std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return {};
  return base::StrCat(heading, ".nf\n", Escape(text), "\n.fi\n");
}

std::string FileName(std::string_view command) {
  return base::StrCat("portcullis-", base::ReplaceAll(command, " ", "-"));
}

std::string Heading(std::string_view page) {
  const BuildInfo& build = ThisBuild();
  return base::StrCat(".TH ", base::ToUpper(page), " 1 ", build.date.substr(0, 10),
                      " \"portcullis ", build.version, "\" \"Portcullis\"\n");
}

std::string Options(const Command& command) {
  if (command.flags == nullptr) return {};
  const std::vector<flags::Info> table = command.flags();
  std::string text = ".SH OPTIONS\n";
  for (const std::string_view group : flags::Groups(table)) {
    if (!group.empty()) text += base::StrCat(".SS ", group, "\n");
    for (const flags::Info& flag : table) {
      if (!flag.note.empty() || flag.group != group) continue;
      text += ".TP\n";
      if (flag.shorthand != '\0') {
        text += base::StrCat("\\fB\\-", std::string(1, flag.shorthand), "\\fR, ");
      }
      text += base::StrCat("\\fB", Escape(base::StrCat("--", flag.name)), "\\fR");
      if (flag.type != flags::Type::kBool) {
        text += base::StrCat(" \\fI", Escape(flags::ValueWord(flag)), "\\fR");
      }
      text += base::StrCat("\n", Escape(flag.meaning));
      if (!flag.default_text.empty()) {
        text += base::StrCat(" (default ", Escape(flag.default_text), ")");
      }
      text += "\n";
      if (!flag.risk.empty()) text += base::StrCat("Opens a door: ", Escape(flag.risk), "\n");
    }
  }
  return text;
}

std::string ProgramPage() {
  std::string text =
      base::StrCat(Heading("portcullis"),
                   ".SH NAME\nportcullis \\- the admission control of Kubernetes as one program\n"
                   ".SH SYNOPSIS\n.B portcullis\n.I COMMAND\n[ARGUMENT...]\n.SH COMMANDS\n");
  std::string pages;
  for (const Command& command : Commands()) {
    text += base::StrCat(".TP\n\\fB", command.name, "\\fR\n", Escape(command.summary), "\n");
    pages +=
        base::StrCat(pages.empty() ? "" : ",\n", ".BR ", Escape(FileName(command.name)), " (1)");
  }
  return base::StrCat(
      text,
      ".SH EXIT STATUS\n0 admitted or passed, 1 refused or failed, 2 flags or files "
      "are wrong, 3 a mistake of the program. \\fBportcullis exec\\fR returns the "
      "status of its command.\n.SH SEE ALSO\n",
      pages, "\n");
}

int Run(const std::vector<std::string>& arguments) {
  struct None {};
  None none;
  const auto line =
      flags::Parse<None>({}, arguments, {"portcullis man", flags::Arguments::kAny}, none);
  if (!line.ok()) return UsageError(kManual.name, line.status().message());
  if (line->help) return PrintHelp(kManual);
  if (line->arguments.empty()) {
    std::fputs(ProgramPage().c_str(), stdout);
    return kExitOk;
  }
  std::size_t named = 0;
  const Command* command = FindCommand(line->arguments, named);
  if (command == nullptr || named != line->arguments.size()) {
    return UsageError(kManual.name, base::StrCat("there is no command \"",
                                                 base::Join(line->arguments, " "), "\""));
  }
  std::fputs(ManualPage(*command).c_str(), stdout);
  return kExitOk;
}

}  // namespace

std::string ManualPage(const Command& command) {
  const std::string name = FileName(command.name);
  const Usage usage = Divide(command.usage);
  return base::StrCat(
      Heading(name), ".SH NAME\n", Escape(name), " \\- ", Escape(command.summary), "\n",
      Literal(".SH SYNOPSIS\n", usage.synopsis), Literal(".SH DESCRIPTION\n", usage.description),
      Options(command), Literal(".SH EXAMPLES\n", usage.examples),
      Literal(".SH NOTES\n", NotesOf(command)), ".SH SEE ALSO\n.BR portcullis (1)\n");
}

const Command kManual = {"man", "print a manual page", &Run, nullptr, kUsage};

}  // namespace portcullis::cli
