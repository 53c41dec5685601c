// SPDX-License-Identifier: Apache-2.0

// PodPreset gives new pods what the PodPresets of their namespace say that fit their labels
// (Kubernetes 1.7 to 1.19, docs/legacy.md): variables, sources of variables, volumes and mounts.
//
// Mutates: new pods. What was given is noted in an annotation for each preset.
// Ignores: mirror pods, and pods with the annotation podpreset.admission.kubernetes.io/exclude. If
// one preset says of a name what another one or the pod says otherwise, none is applied.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_preset {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_preset
