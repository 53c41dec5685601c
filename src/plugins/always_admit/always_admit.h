// SPDX-License-Identifier: Apache-2.0

// AlwaysAdmit accepts everything. Deprecated in Kubernetes: it has no effect.
//
// Mutates: nothing. Validates: nothing.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: AlwaysAdmit".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::always_admit {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::always_admit
