// SPDX-License-Identifier: Apache-2.0

// Initializers gives new objects a list of tasks, metadata.initializers, that controllers outside
// the server work off before the object shows (Kubernetes 1.7 to 1.13, docs/legacy.md). Which kinds
// get which tasks, objects of kind InitializerConfiguration say; they are in force when their write
// returns.
//
// Mutates: a new object without the field gets the names of the initializers that match it, but not
// a mirror pod. An empty field becomes none: the way past initializers.
// Refuses: the field in a new object, and any write to an object that has it, of users who have not
// the verb `initialize` on the resource.
// Ignores: subresources.
// Behaviour follows the Kubernetes 1.13 documentation, "Dynamic Admission Control".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::initializers {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::initializers
