// SPDX-License-Identifier: Apache-2.0

// One subcommand of the program. Each has a file pair named as the subcommand (serve.{h,cc}) that
// exports one descriptor, which stands in the table of commands.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flags/flags.h"

namespace portcullis::cli {

// Exit codes of every subcommand.
inline constexpr int kExitOk = 0;        // admitted, passed
inline constexpr int kExitRefused = 1;   // refused, failed
inline constexpr int kExitUsage = 2;     // usage or configuration error
inline constexpr int kExitInternal = 3;  // a mistake of ours

struct Command {
  std::string_view name;     // as typed: "serve", or "schema import" for a nested one
  std::string_view summary;  // one line of `portcullis --help`
  // Arguments after the name, without it. Writes to stdout and stderr; returns the exit code.
  int (*run)(const std::vector<std::string>& arguments);
  // The rows of its flag table; null: it has none.
  std::vector<flags::Info> (*flags)() = nullptr;
  // What --help prints before the flags: what the command does, "Usage:", "Examples:".
  std::string_view usage;
  // What --help prints behind the flags; begins with an empty line.
  std::string_view notes;
};

// The notes of a command, with the exit status if neither they nor the usage tell it.
std::string NotesOf(const Command& command);

// What `--help` shows of a command.
std::string HelpOf(const Command& command);

// Prints it to standard output; returns kExitOk.
int PrintHelp(const Command& command);

// Prints `Error: …` and where help is; returns kExitUsage.
int UsageError(std::string_view command, std::string_view message);

// The command that the first words name, and how many of them do; null if there is none.
const Command* FindCommand(std::span<const std::string> words, std::size_t& named);

// Every subcommand, in the order of the help.
const std::vector<Command>& Commands();

// Finds the command, runs it; unknown ones get the nearest name. What main() calls.
int RunProgram(int argc, const char* const* argv);

}  // namespace portcullis::cli
