// SPDX-License-Identifier: Apache-2.0

// The configuration of PodSecurity: defaults for namespaces without labels, and exemptions.
#pragma once

#include <string>
#include <vector>

#include "admission/plugin.h"
#include "base/status.h"
#include "policy/pod_security/level.h"

namespace portcullis::plugins::pod_security {

struct PodSecurityConfig {
  policy::pod_security::Policy defaults;
  std::vector<std::string> exempt_usernames;
  std::vector<std::string> exempt_namespaces;
  std::vector<std::string> exempt_runtime_classes;
};

// Without a configuration everything is privileged, without exemptions. Errors: `PodSecurity
// configuration error: enforce: must be one of …`, `PodSecurity invalid: exemptions.namespaces[0]:
// …`.
base::Result<PodSecurityConfig> ParseConfig(const admission::PluginContext& context);

}  // namespace portcullis::plugins::pod_security
