// SPDX-License-Identifier: Apache-2.0

// PodSecurity holds pods to the Pod Security Standards: the level that their namespace enforces by
// label, or the cluster's default.
//
// Validates: new pods and updates that change what runs; warns about workloads whose pods would be
// refused, and about existing pods when a namespace becomes stricter.
// Ignores: exempt users, namespaces and runtime classes; pods/status, exec and the like.
// Behaviour follows the Kubernetes documentation, "Pod Security Admission". The judging is done by
// policy/pod_security, which needs no server.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_security {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_security
