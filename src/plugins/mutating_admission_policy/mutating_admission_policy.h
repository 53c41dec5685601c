// SPDX-License-Identifier: Apache-2.0

// MutatingAdmissionPolicy lets the MutatingAdmissionPolicies of the cluster change the object.
//
// Mutates: what the policies' patches change. Validates: nothing.
// Ignores: policies and bindings themselves, and reviews of users and permissions.
// Behaviour follows the Kubernetes documentation, "Mutating Admission Policy".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::mutating_admission_policy {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::mutating_admission_policy
