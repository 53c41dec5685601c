// SPDX-License-Identifier: Apache-2.0

// PodNodeSelector ties the pods of a namespace to some nodes by a node selector, and limits which
// nodes they may choose.
//
// Mutates: adds the namespace's node selector, or the cluster's default one, to new pods.
// Validates: that the pod's selector does not contradict it and stays within the namespace's
// whitelist.
// Ignores: subresources.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PodNodeSelector".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_node_selector {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_node_selector
