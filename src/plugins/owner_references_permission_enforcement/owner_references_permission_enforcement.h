// SPDX-License-Identifier: Apache-2.0

// OwnerReferencesPermissionEnforcement keeps users from having objects deleted, or their deletion
// blocked, through owner references they make up.
//
// Validates: changed ownerReferences: needs the right to delete the object, and for
// blockOwnerDeletion the right to set the owner's finalizers.
// Ignores: pods/status; unchanged references.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// OwnerReferencesPermissionEnforcement".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::owner_references_permission_enforcement {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::owner_references_permission_enforcement
