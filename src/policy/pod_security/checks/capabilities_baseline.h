// SPDX-License-Identifier: Apache-2.0

// Containers may add only capabilities of the usual default set.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kCapabilitiesBaseline;

}  // namespace portcullis::policy::pod_security
