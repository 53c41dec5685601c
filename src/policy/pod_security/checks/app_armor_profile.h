// SPDX-License-Identifier: Apache-2.0

// Containers may use only the runtime's default or a localhost AppArmor profile.
#pragma once

#include "policy/pod_security/check.h"

namespace portcullis::policy::pod_security {

extern const Check kAppArmorProfile;

}  // namespace portcullis::policy::pod_security
