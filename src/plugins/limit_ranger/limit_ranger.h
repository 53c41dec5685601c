// SPDX-License-Identifier: Apache-2.0

// LimitRanger makes pods and claims keep to the limit ranges of their namespace: fills in what
// containers leave out, refuses what is out of range.
//
// Mutates: requests and limits of containers and init containers of new pods.
// Validates: pods, their containers, and claims against min, max and ratio of each LimitRange.
// Ignores: updates of pods other than resize, ephemeral containers, objects being deleted.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: LimitRanger".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::limit_ranger {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::limit_ranger
