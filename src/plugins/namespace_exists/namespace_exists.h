// SPDX-License-Identifier: Apache-2.0

// NamespaceExists refuses requests in namespaces that do not exist.
//
// Validates: the namespace of every namespaced request.
// Ignores: cluster-scoped objects and namespaces themselves.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: NamespaceExists".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::namespace_exists {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::namespace_exists
