// SPDX-License-Identifier: Apache-2.0

// Keeps one pod of a DaemonSet on each node that it selects and tolerates.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kDaemonSet;

}  // namespace portcullis::controllers
