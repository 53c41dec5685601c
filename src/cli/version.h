// SPDX-License-Identifier: Apache-2.0

// `portcullis version`.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kVersion;

}  // namespace portcullis::cli
