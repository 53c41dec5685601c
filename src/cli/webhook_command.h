// SPDX-License-Identifier: Apache-2.0

// `portcullis webhook`: plugins and policies as an admission webhook.
#pragma once

#include "cli/command.h"

namespace portcullis::cli {

extern const Command kWebhook;

}  // namespace portcullis::cli
