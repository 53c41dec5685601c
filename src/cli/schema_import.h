// SPDX-License-Identifier: Apache-2.0

// `portcullis schema import`: makes a catalog file of what an API server publishes.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kSchemaImport;

}  // namespace portcullis::cli
