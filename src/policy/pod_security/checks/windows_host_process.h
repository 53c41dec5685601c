// SPDX-License-Identifier: Apache-2.0

// Pods may not run as Windows host processes.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kWindowsHostProcess;

}  // namespace portcullis::policy::pod_security
