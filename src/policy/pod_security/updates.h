// SPDX-License-Identifier: Apache-2.0

// Which updates of a pod are judged again: those that can change what runs.
#pragma once

#include "json/value.h"

namespace portcullis::policy::pod_security {

// True if containers or init containers were added, removed or got another image, or an ephemeral
// container was added or got another image. Everything else (labels, tolerations, resources, the
// removal of ephemeral containers) leaves a pod as it was admitted.
bool IsSignificantUpdate(json::Value old_pod_spec, json::Value new_pod_spec);

}  // namespace portcullis::policy::pod_security
