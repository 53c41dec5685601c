// SPDX-License-Identifier: Apache-2.0

// `portcullis serve`: the API server.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kServe;

}  // namespace portcullis::cli
