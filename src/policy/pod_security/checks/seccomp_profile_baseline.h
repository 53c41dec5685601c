// SPDX-License-Identifier: Apache-2.0

// Seccomp may not be switched off: by annotation before 1.19, by field since.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kSeccompProfileBaseline;

}  // namespace portcullis::policy::pod_security
