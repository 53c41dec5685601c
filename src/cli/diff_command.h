// SPDX-License-Identifier: Apache-2.0

// `portcullis diff`: what two sets of policies, or two releases, make of the same requests.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kDiff;

}  // namespace portcullis::cli
