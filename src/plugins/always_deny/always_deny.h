// SPDX-License-Identifier: Apache-2.0

// AlwaysDeny refuses every request. Deprecated in Kubernetes: it is meant for tests.
//
// Mutates: refuses. Validates: refuses.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: AlwaysDeny".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::always_deny {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::always_deny
