// SPDX-License-Identifier: Apache-2.0

// `portcullis lint`: what is wrong with policies and webhook configurations (docs/lint.md).
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kLint;

}  // namespace portcullis::cli
