// SPDX-License-Identifier: Apache-2.0

// `portcullis exec`: a server for the time of one command.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kExec;

}  // namespace portcullis::cli
