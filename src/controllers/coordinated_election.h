// SPDX-License-Identifier: Apache-2.0

// Coordinated leader election: of the LeaseCandidates of a Lease that still answer one becomes its
// holder, that of the oldest emulated version (Kubernetes docs: "Coordinated Leader Election").
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

// Works as the server itself, behind the gate CoordinatedLeaderElection; not among --controllers.
extern const ControllerInfo kCoordinatedElection;

}  // namespace portcullis::controllers
