// SPDX-License-Identifier: Apache-2.0

// PodSecurityPolicy admits pods that one of the PodSecurityPolicies allows which their creator or
// their service account may use (Kubernetes up to 1.24, docs/legacy.md).
//
// Mutates: new pods get what the policy requires and they leave out. A policy that allows the pod
// as it is comes before one that changes it; else the first in order of names. The annotation
// kubernetes.io/psp names it.
// Refuses: new and changed pods that no such policy allows, with what each of them objects to.
// Ignores: updates of owner references and finalizers alone.
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::pod_security_policy {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::pod_security_policy
