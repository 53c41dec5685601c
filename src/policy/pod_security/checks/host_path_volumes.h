// SPDX-License-Identifier: Apache-2.0

// Pods may not mount directories of the host.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kHostPathVolumes;

}  // namespace portcullis::policy::pod_security
