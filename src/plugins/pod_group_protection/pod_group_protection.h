// SPDX-License-Identifier: Apache-2.0

// PodGroupProtection keeps a PodGroup until nothing uses it any more, by a finalizer.
//
// Mutates: adds scheduling.k8s.io/podgroup-protection to new PodGroups.
// Ignores: everything without the gate GenericWorkload (off by default).
// Behaviour follows the Kubernetes documentation, "Admission Controllers: PodGroupProtection".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_group_protection {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_group_protection
