// SPDX-License-Identifier: Apache-2.0

// `portcullis man`: manual pages, made from the tables of commands and flags.
#pragma once

#include <string>

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kManual;

// The page of a command in the macros of man(7).
std::string ManualPage(const Command& command);

}  // namespace portcullis::cli
