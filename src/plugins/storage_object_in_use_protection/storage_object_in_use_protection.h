// SPDX-License-Identifier: Apache-2.0

// StorageObjectInUseProtection keeps volumes, claims and volume attributes classes until nothing
// uses them any more, by finalizers.
//
// Mutates: adds the protecting finalizer to new persistentvolumes, persistentvolumeclaims and
// volumeattributesclasses.
// Ignores: subresources.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// StorageObjectInUseProtection".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::storage_object_in_use_protection {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::storage_object_in_use_protection
