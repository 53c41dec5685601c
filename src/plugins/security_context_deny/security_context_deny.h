// SPDX-License-Identifier: Apache-2.0

// SecurityContextDeny refused pods that set some fields of their security context. Removed from
// Kubernetes in 1.30; PodSecurity took its place.
//
// Validates: pods with supplemental groups, SELinux options, a user or a file system group of
// their own.
// Ignores: everything but pods.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: SecurityContextDeny".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::security_context_deny {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::security_context_deny
