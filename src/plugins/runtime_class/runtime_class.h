// SPDX-License-Identifier: Apache-2.0

// RuntimeClass adds to a pod what its RuntimeClass says: the overhead of the runtime, and where it
// can be scheduled.
//
// Mutates: overhead, nodeSelector and tolerations of new pods with a runtimeClassName.
// Validates: that the overhead is the class's own, and that no pod sets one without.
// Ignores: subresources.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: RuntimeClass".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::runtime_class {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::runtime_class
