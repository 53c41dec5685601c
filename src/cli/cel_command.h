// SPDX-License-Identifier: Apache-2.0

// `portcullis cel`: evaluates expressions from the command line, a file, or a stream of requests.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kCel;

}  // namespace portcullis::cli
