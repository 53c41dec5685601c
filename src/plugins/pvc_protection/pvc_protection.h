// SPDX-License-Identifier: Apache-2.0

// PVCProtection protects claims in use (Kubernetes 1.9, docs/legacy.md). Later releases have
// StorageObjectInUseProtection instead.
//
// Mutates: new PersistentVolumeClaims get the finalizer kubernetes.io/pvc-protection, if the feature
// gate PVCProtection is on.
// Ignores: claims that carry it already.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pvc_protection {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pvc_protection
