// SPDX-License-Identifier: Apache-2.0

// `portcullis plugins`: the members of the admission chain.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kPlugins;

}  // namespace portcullis::cli
