// SPDX-License-Identifier: Apache-2.0

// What a scheduler and drivers say of a claim (pkg/apis/resource/validation). Pure functions.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// A new status.allocation of a claim with these spec.devices.
void CheckAllocation(json::Value allocation, json::Value devices, const FieldPath& path,
                     FieldErrors& errors);
// status.devices: each is one that was allocated.
void CheckDeviceStatuses(json::Value devices, json::Value allocation, const FieldPath& path,
                         FieldErrors& errors);

}  // namespace portcullis::registry
