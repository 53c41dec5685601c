// SPDX-License-Identifier: Apache-2.0

// PodGroupWorkloadExists refuses PodGroups that refer to a Workload, or to a template in it, that
// is not there.
//
// Validates: new PodGroups with spec.podGroupTemplateRef.
// Ignores: everything without the gate GenericWorkload (off by default).
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PodGroupWorkloadExists".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_group_workload_exists {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_group_workload_exists
