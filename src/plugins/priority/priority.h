// SPDX-License-Identifier: Apache-2.0

// Priority turns the name of a PriorityClass into the number the scheduler works with, and keeps
// users from making numbers up.
//
// Mutates: priorityClassName, priority and preemptionPolicy of new pods; fills both values on
// updates that leave them out.
// Validates: that at most one PriorityClass is the default.
// Ignores: subresources. Of several default classes the one with the smallest value counts.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: Priority".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::priority {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::priority
