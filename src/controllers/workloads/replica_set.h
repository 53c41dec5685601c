// SPDX-License-Identifier: Apache-2.0

// Keeps as many pods as a ReplicaSet or a ReplicationController asks for.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kReplicaSet;
extern const ControllerInfo kReplicationController;

}  // namespace portcullis::controllers
