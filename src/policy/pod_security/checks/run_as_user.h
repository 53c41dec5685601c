// SPDX-License-Identifier: Apache-2.0

// Containers may not ask for user 0 (1.23 and later); a user namespace will do from 1.35.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kRunAsUser;

}  // namespace portcullis::policy::pod_security
