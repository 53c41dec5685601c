// SPDX-License-Identifier: Apache-2.0

// The status of a Job (pkg/apis/batch/validation, ValidateJobUpdateStatus). Pure functions.
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Whether the job has the condition with the status "True".
bool IsTrue(json::Value job, std::string_view condition_type);

// What is wrong with the status of `job`, which is to replace that of `old`. Most checks are made only
// where what they are about changes, so that a bad status may be mended in steps.
void CheckJobStatus(json::Value job, json::Value old, FieldErrors& errors);

}  // namespace portcullis::registry
