// SPDX-License-Identifier: Apache-2.0

// Only volumes that give no access to the node or to storage outside a claim.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kRestrictedVolumes;

}  // namespace portcullis::policy::pod_security
