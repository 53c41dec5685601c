// SPDX-License-Identifier: Apache-2.0

// TaintNodesByCondition taints new nodes as not ready, so that no pod is scheduled onto them
// before their true condition is known.
//
// Mutates: appends the taint node.kubernetes.io/not-ready:NoSchedule to new nodes.
// Ignores: nodes that carry the taint already, with any value.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: TaintNodesByCondition".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::taint_nodes_by_condition {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::taint_nodes_by_condition
