// SPDX-License-Identifier: Apache-2.0

// What the plugins DenyEscalatingExec and DenyExecOnPrivileged have in common (Kubernetes up to
// 1.20, docs/legacy.md).
#pragma once

#include "admission/request.h"
#include "base/status.h"
#include "store/store.h"

namespace portcullis::plugins::common {

enum class Escalation : std::uint8_t {
  kPrivileged,  // privileged containers
  kAny,         // also the host's network, processes and IPC
};

// Refuses exec into and attach to pods that could reach the host by it; other requests pass.
// `reader` may be null: there are no pods then.
base::Status DenyExec(const admission::Request& request, const store::Reader* reader,
                      Escalation denied);

}  // namespace portcullis::plugins::common
