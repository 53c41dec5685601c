// SPDX-License-Identifier: Apache-2.0

// What `portcullis webhook --print-config` prints: the webhook configurations to apply, and, unless --url says
// that the webhook is elsewhere, what runs it in a cluster.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "webhook_server/options.h"

namespace portcullis::webhook_server {

// YAML, documents with comments that say why. Errors are those of Backend::Create and of --service, --url.
base::Result<std::string> ConfigText(const Options& options, const base::Clock& clock);

}  // namespace portcullis::webhook_server
