// SPDX-License-Identifier: Apache-2.0

// Containers must run as a user other than root; a user namespace will do from 1.35.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kRunAsNonRoot;

}  // namespace portcullis::policy::pod_security
