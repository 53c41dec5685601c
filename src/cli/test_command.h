// SPDX-License-Identifier: Apache-2.0

// `portcullis test`: judges manifests without a cluster.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kTest;

}  // namespace portcullis::cli
