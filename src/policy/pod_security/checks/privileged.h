// SPDX-License-Identifier: Apache-2.0

// Containers may not be privileged.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kPrivileged;

}  // namespace portcullis::policy::pod_security
