// SPDX-License-Identifier: Apache-2.0

// Containers must name a seccomp profile (1.19 and later; not Windows pods from 1.25).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kSeccompProfileRestricted;

}  // namespace portcullis::policy::pod_security
