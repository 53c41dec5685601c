// SPDX-License-Identifier: Apache-2.0

// Only sysctls that are namespaced and safe; the list grew in 1.27, 1.29, 1.32 and
// 1.37.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kSysctls;

}  // namespace portcullis::policy::pod_security
