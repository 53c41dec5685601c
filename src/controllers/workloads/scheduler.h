// SPDX-License-Identifier: Apache-2.0

// Binds pods to nodes, so that they go on. Not a scheduler: it looks at node selectors, required node
// affinity, taints and `unschedulable`, and not at resources or other pods.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kWorkloadScheduler;

}  // namespace portcullis::controllers
