// SPDX-License-Identifier: Apache-2.0

// `portcullis explain`: every step that a manifest goes through, without a cluster.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kExplain;

}  // namespace portcullis::cli
