// SPDX-License-Identifier: Apache-2.0

// Rolls a Deployment out through its ReplicaSets.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kDeployment;

}  // namespace portcullis::controllers
