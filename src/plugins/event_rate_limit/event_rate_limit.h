// SPDX-License-Identifier: Apache-2.0

// EventRateLimit keeps a flood of events from filling the store: events over a limit are refused
// with code 429.
//
// Validates: new and updated core Events, against every configured limit.
// Ignores: dry runs and events of events.k8s.io.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: EventRateLimit".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::event_rate_limit {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::event_rate_limit
