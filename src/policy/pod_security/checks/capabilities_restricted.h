// SPDX-License-Identifier: Apache-2.0

// Containers must drop ALL capabilities and may add only NET_BIND_SERVICE (1.22 and later).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kCapabilitiesRestricted;

}  // namespace portcullis::policy::pod_security
