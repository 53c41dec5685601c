// SPDX-License-Identifier: Apache-2.0

// NodeDeclaredFeatureValidator refuses changes of a running pod that its node has not declared to
// support.
//
// Validates: updates and resizes of bound pods that bump the generation.
// Ignores: pods without a node, updates that change nothing the node has to act on.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// NodeDeclaredFeatureValidator".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::node_declared_feature_validator {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::node_declared_feature_validator
