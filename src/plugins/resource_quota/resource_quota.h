// SPDX-License-Identifier: Apache-2.0

// ResourceQuota keeps what the objects of a namespace use together within its quotas. Runs last,
// so that only what everybody else has accepted is charged.
//
// Validates: creates and updates that use more of something a quota limits; charges the quota's
// status before the object is written.
// Ignores: deletes: the quota controller recounts. Dry runs are checked but not charged.
// Behaviour follows the Kubernetes documentation, "Resource Quotas".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::resource_quota {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::resource_quota
