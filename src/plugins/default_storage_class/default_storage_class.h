// SPDX-License-Identifier: Apache-2.0

// DefaultStorageClass gives a PersistentVolumeClaim that names no storage class the cluster's
// default class.
//
// Mutates: sets spec.storageClassName of new claims.
// Ignores: claims that name a class, also an empty one, by field or by the old annotation.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: DefaultStorageClass".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::default_storage_class {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::default_storage_class
