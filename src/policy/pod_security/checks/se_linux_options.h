// SPDX-License-Identifier: Apache-2.0

// Only container types of SELinux, and neither user nor role (one type more from 1.31).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kSeLinuxOptions;

}  // namespace portcullis::policy::pod_security
