// SPDX-License-Identifier: Apache-2.0

// The spec of a job, alone or inside a CronJob (pkg/apis/batch/validation). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// `old` is the spec that an update replaces.
void CheckJobSpec(const Context& ctx, json::Value spec, json::Value old, const FieldPath& path,
                  FieldErrors& errors);

// Too many indexes to remember which failed.
void WarnOfJobSpec(json::Value spec, const FieldPath& path, std::vector<std::string>& warnings);

}  // namespace portcullis::registry
