// SPDX-License-Identifier: Apache-2.0

// PersistentVolumeLabel put the zone and region of a cloud disk onto new PersistentVolumes.
// Removed from Kubernetes in 1.31. No cloud provider is built in, so only labels that the
// provisioner has set can be used.
//
// Mutates: labels and node affinity of new persistentvolumes.
// Ignores: volumes of other kinds than GCE persistent disks.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PersistentVolumeLabel".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::persistent_volume_label {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::persistent_volume_label
