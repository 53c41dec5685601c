// SPDX-License-Identifier: Apache-2.0

// Containers keep the default /proc mount; from 1.35 other mounts are fine in a user namespace.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kProcMount;

// User namespace or not.
CheckResult CheckProcMounts(const PodView& pod);

}  // namespace portcullis::policy::pod_security
