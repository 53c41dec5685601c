// SPDX-License-Identifier: Apache-2.0

// NodeRestriction keeps a node, and an attacker with its credentials, to its own objects: its
// Node, its pods, their claims, tokens and leases.
//
// Mutates: nothing; refuses in the mutating phase, before anything is validated.
// Ignores: everybody but users system:node:<name> in the group system:nodes.
// Behaviour follows the Kubernetes documentation, "Using Node Authorization". One source file per
// kind of object.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::node_restriction {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::node_restriction
