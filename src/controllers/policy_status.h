// SPDX-License-Identifier: Apache-2.0

// validatingadmissionpolicy-status-controller: keeps `status.typeChecking` of
// ValidatingAdmissionPolicies true. Writes of policies are checked before they return
// (registry/admission/admission_policy_strategy.cc); this looks after what was stored before, and after
// policies whose custom resources have changed.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kPolicyStatus;

}  // namespace portcullis::controllers
