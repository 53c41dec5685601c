// SPDX-License-Identifier: Apache-2.0

// DenyEscalatingExec refuses exec into and attach to pods that are privileged or use the network, the
// processes or the IPC of their host: a user could leave the pod by it.
//
// Validates: CONNECT of pods/exec and pods/attach.
// Behaviour follows the Kubernetes 1.20 documentation, "Admission Controllers: DenyEscalatingExec".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::deny_escalating_exec {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::deny_escalating_exec
