// SPDX-License-Identifier: Apache-2.0

// Containers may not take ports of the host.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kHostPorts;

}  // namespace portcullis::policy::pod_security
