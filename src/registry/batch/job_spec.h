// SPDX-License-Identifier: Apache-2.0

// The spec of a job, alone or inside a CronJob (pkg/apis/batch/validation). Pure functions.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

inline constexpr std::int64_t kManyCompletions = 100000;
inline constexpr std::int64_t kMostForManyCompletions = 10000;

void CheckJobSpec(const Context& ctx, json::Value spec, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
