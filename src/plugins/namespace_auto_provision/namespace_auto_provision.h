// SPDX-License-Identifier: Apache-2.0

// NamespaceAutoProvision makes a namespace when something is created in one that does not exist.
//
// Mutates: creates the missing namespace; the object itself stays as it is.
// Ignores: cluster-scoped objects, namespaces, dry runs.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: NamespaceAutoProvision".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::namespace_auto_provision {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::namespace_auto_provision
