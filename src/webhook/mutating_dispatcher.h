// SPDX-License-Identifier: Apache-2.0

// Calls mutating webhooks one after the other and applies their patches.
#pragma once

#include "admission/request.h"
#include "base/status.h"
#include "webhook/matcher.h"

namespace portcullis::webhook {

// One pass over the webhooks that match. Replaces the request's object if they change it; keeps in
// the request's Reinvocation what a second pass needs.
base::Status DispatchMutating(const Services& services, const HookSet& hooks,
                              admission::Request& request);

}  // namespace portcullis::webhook
