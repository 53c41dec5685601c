// SPDX-License-Identifier: Apache-2.0

// Calls all validating webhooks that match at the same time and waits for all of them.
#pragma once

#include "admission/request.h"
#include "base/status.h"
#include "webhook/matcher.h"

namespace portcullis::webhook {

// The error that arrived first, if any did.
base::Status DispatchValidating(const Services& services, const HookSet& hooks,
                                const admission::Request& request);

}  // namespace portcullis::webhook
