// SPDX-License-Identifier: Apache-2.0

// PodTopologyLabels copies the zone and region of a node onto the pods bound to it, so that the
// pod can read them of itself.
//
// Mutates: labels of a Binding to a node, and of a new pod that names its node.
// Ignores: other subresources; nodes that do not exist or have no such labels.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PodTopologyLabels".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_topology_labels {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_topology_labels
