// SPDX-License-Identifier: Apache-2.0

// InitialResources (Kubernetes 1.2 to 1.10, experimental; docs/legacy.md) requests CPU and memory for
// containers that say nothing of them: what containers with the same image have used.
//
// Mutates: containers of new pods, each resource that has neither request nor limit. The annotation
// kubernetes.io/initial-resources says what was set.
// Ignores: init containers; containers whose image has no history. Without a history of usage
// (--ir-influxdb-host) it changes nothing, and a database that fails refuses nothing.
// Behaviour follows the documentation of Kubernetes 1.7, "Using Admission Controllers".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::initial_resources {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::initial_resources
