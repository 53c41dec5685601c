// SPDX-License-Identifier: Apache-2.0

// DefaultTolerationSeconds lets pods stay on a node that is not ready or unreachable for five
// minutes, unless they say otherwise, so that short outages do not move everything.
//
// Mutates: appends a toleration for node.kubernetes.io/not-ready and one for
// node.kubernetes.io/unreachable.
// Ignores: pods that tolerate the taint already, in whatever way.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// DefaultTolerationSeconds".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::default_toleration_seconds {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::default_toleration_seconds
