// SPDX-License-Identifier: Apache-2.0

// Pods may not share the host's network, process or IPC namespace.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kHostNamespaces;

}  // namespace portcullis::policy::pod_security
