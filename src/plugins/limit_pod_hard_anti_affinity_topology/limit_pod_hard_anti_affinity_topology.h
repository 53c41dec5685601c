// SPDX-License-Identifier: Apache-2.0

// LimitPodHardAntiAffinityTopology keeps pods from shutting others out of whole zones: required
// anti-affinity is allowed per host only.
//
// Validates: refuses required anti-affinity terms with another topology key than
// kubernetes.io/hostname.
// Ignores: preferred terms, pod affinity, everything but pods.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// LimitPodHardAntiAffinityTopology".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::limit_pod_hard_anti_affinity_topology {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::limit_pod_hard_anti_affinity_topology
