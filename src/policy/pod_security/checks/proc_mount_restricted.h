// SPDX-License-Identifier: Apache-2.0

// Containers keep the default /proc mount, user namespace or not (1.35 and later).
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kProcMountRestricted;

}  // namespace portcullis::policy::pod_security
