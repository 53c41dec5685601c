// SPDX-License-Identifier: Apache-2.0

// ValidatingAdmissionPolicy asks the ValidatingAdmissionPolicies of the cluster whether a request
// may go on.
//
// Mutates: nothing. Validates: what the policies' expressions refuse.
// Ignores: policies and bindings themselves, and reviews of users and permissions.
// Behaviour follows the Kubernetes documentation, "Validating Admission Policy".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::validating_admission_policy {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::validating_admission_policy
