// SPDX-License-Identifier: Apache-2.0

// NamespaceLifecycle refuses new objects in namespaces that do not exist or are being deleted, and
// the deletion of the namespaces the system needs.
//
// Mutates: refuses only; nothing is changed. Validates: nothing.
// Ignores: updates and deletions of objects in any namespace, cluster-scoped objects.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: NamespaceLifecycle".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::namespace_lifecycle {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::namespace_lifecycle
