// SPDX-License-Identifier: Apache-2.0

// Lets go of persistent volumes and claims that are being deleted once nothing uses them. (The
// plugin StorageObjectInUseProtection gives them the finalizers.)
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kClaimProtection;
extern const ControllerInfo kVolumeProtection;

}  // namespace portcullis::controllers
