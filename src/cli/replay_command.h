// SPDX-License-Identifier: Apache-2.0

// `portcullis replay`.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kReplay;

}  // namespace portcullis::cli
