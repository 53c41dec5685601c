// SPDX-License-Identifier: Apache-2.0

// `portcullis record`.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kRecord;

}  // namespace portcullis::cli
