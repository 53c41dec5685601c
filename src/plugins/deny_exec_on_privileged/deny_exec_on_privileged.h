// SPDX-License-Identifier: Apache-2.0

// DenyExecOnPrivileged refuses exec into and attach to pods with privileged containers.
// DenyEscalatingExec refuses more.
//
// Validates: CONNECT of pods/exec and pods/attach.
// Behaviour follows the Kubernetes 1.20 documentation, "Admission Controllers: DenyExecOnPrivileged".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::deny_exec_on_privileged {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::deny_exec_on_privileged
