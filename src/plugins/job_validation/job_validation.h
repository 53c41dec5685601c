// SPDX-License-Identifier: Apache-2.0

// JobValidation keeps the parallelism of a Job whose pods are scheduled as a gang: the gang was
// sized for it.
//
// Validates: changes of spec.parallelism of Jobs with a gang-scheduled PodGroup.
// Ignores: everything without the gates GenericWorkload or WorkloadWithJob (off by default).
// Behaviour follows the Kubernetes documentation, "Admission Controllers: JobValidation".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::job_validation {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::job_validation
