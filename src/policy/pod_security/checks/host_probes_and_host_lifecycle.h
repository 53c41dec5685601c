// SPDX-License-Identifier: Apache-2.0

// Probes and lifecycle hooks may not name a host of their own (1.34 and later).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kHostProbesAndHostLifecycle;

}  // namespace portcullis::policy::pod_security
