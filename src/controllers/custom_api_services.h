// SPDX-License-Identifier: Apache-2.0

// APIServices of custom resources: one for each group and version that a definition serves, made,
// put right and removed as definitions change (kube-aggregator, autoregistration).
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

// Works as the server itself; not among --controllers.
extern const ControllerInfo kCustomApiServices;

}  // namespace portcullis::controllers
