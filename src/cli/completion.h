// SPDX-License-Identifier: Apache-2.0

// `portcullis completion`: completion of the command line for bash, zsh and fish, made from the
// tables of commands and flags.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kCompletion;

// The script for "bash", "zsh" or "fish". "" for other shells.
std::string CompletionScript(std::string_view shell, std::span<const Command> commands);

}  // namespace portcullis::cli
