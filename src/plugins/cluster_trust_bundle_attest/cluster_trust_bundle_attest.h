// SPDX-License-Identifier: Apache-2.0

// ClusterTrustBundleAttest lets only those write a ClusterTrustBundle for a signer who may attest
// for it.
//
// Validates: writes of clustertrustbundles with a signer, unless only bookkeeping metadata
// changes.
// Ignores: everything without the gate ClusterTrustBundle (off by default).
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// ClusterTrustBundleAttest".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::cluster_trust_bundle_attest {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::cluster_trust_bundle_attest
