// SPDX-License-Identifier: Apache-2.0

// PodResizeValidator refuses to resize a running pod beyond what its node has, instead of letting
// the node refuse it later.
//
// Validates: pods/resize of bound pods when it changes the pod.
// Ignores: pods without a node, resizes that repeat the current values.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PodResizeValidator".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_resize_validator {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_resize_validator
