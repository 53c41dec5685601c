// SPDX-License-Identifier: Apache-2.0

// The status of a Job (pkg/apis/batch/validation, ValidateJobUpdateStatus). Pure functions.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// What is wrong with the status of `job`, which is to replace that of `old`. Most checks are made only
// where what they are about changes, so that a bad status may be mended in steps.
// Without the gate JobManagedBy only Kubernetes' own controller writes it, and few are made.
void CheckJobStatus(const Context& ctx, json::Value job, json::Value old, FieldErrors& errors);

}  // namespace portcullis::registry
