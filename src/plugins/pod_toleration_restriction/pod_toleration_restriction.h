// SPDX-License-Identifier: Apache-2.0

// PodTolerationRestriction gives the pods of a namespace default tolerations and limits which they
// may have.
//
// Mutates: adds the namespace's or the cluster's default tolerations, and one for memory pressure
// to pods that are not BestEffort.
// Validates: that every toleration is covered by the whitelist.
// Ignores: subresources.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// PodTolerationRestriction".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_toleration_restriction {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_toleration_restriction
