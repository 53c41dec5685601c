// SPDX-License-Identifier: Apache-2.0

// DenyServiceExternalIPs keeps users from claiming traffic to arbitrary addresses by naming them
// as external IPs of a Service (CVE-2020-8554).
//
// Validates: refuses external IPs that the Service did not have before.
// Ignores: everything but Services; removing and reordering addresses.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: DenyServiceExternalIPs".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::deny_service_external_ips {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::deny_service_external_ips
