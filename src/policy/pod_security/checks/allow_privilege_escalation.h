// SPDX-License-Identifier: Apache-2.0

// Containers must forbid privilege escalation (1.8 and later; not Windows pods from 1.25).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kAllowPrivilegeEscalation;

}  // namespace portcullis::policy::pod_security
