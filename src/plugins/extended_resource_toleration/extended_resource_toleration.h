// SPDX-License-Identifier: Apache-2.0

// ExtendedResourceToleration lets pods that ask for an extended resource (a GPU) onto nodes set
// aside for it, which carry a taint with the resource's name.
//
// Mutates: adds one toleration per extended resource that containers or init containers request.
// Ignores: everything but pods.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// ExtendedResourceToleration".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::extended_resource_toleration {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::extended_resource_toleration
