// SPDX-License-Identifier: Apache-2.0

// PersistentVolumeClaimResize refuses to grow claims whose storage class does not allow it.
//
// Validates: updates of claims that ask for more storage.
// Ignores: everything else; shrinking is refused by validation.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// PersistentVolumeClaimResize".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::persistent_volume_claim_resize {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::persistent_volume_claim_resize
