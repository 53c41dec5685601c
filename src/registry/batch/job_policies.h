// What Jobs say about failure and success, and what may not happen to their status
// (pkg/apis/batch/validation). Pure functions; any thread.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// spec.podFailurePolicy of a JobSpec; nothing if absent.
void CheckPodFailurePolicy(json::Value spec, const FieldPath& path, FieldErrors& errors);
// spec.successPolicy of an indexed job.
void CheckSuccessPolicy(json::Value spec, const FieldPath& path, FieldErrors& errors);
void CheckJobStatus(json::Value job, json::Value old, FieldErrors& errors);

}  // namespace portcullis::registry
