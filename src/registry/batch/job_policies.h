// SPDX-License-Identifier: Apache-2.0

// What Jobs say about failure and success (pkg/apis/batch/validation). Pure functions; any thread.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// spec.podFailurePolicy of a JobSpec; nothing if absent.
void CheckPodFailurePolicy(json::Value spec, const FieldPath& path, FieldErrors& errors);
// spec.successPolicy of an indexed job.
void CheckSuccessPolicy(json::Value spec, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
