// SPDX-License-Identifier: Apache-2.0

// The configuration of ResourceQuota: resources that may be used only where a quota allows it.
#pragma once

#include <string>
#include <vector>

#include "admission/plugin.h"
#include "api/quota/scope.h"
#include "base/status.h"

namespace portcullis::plugins::resource_quota {

struct LimitedResource {
  std::string api_group;
  std::string resource;
  // Usage whose name contains one of these needs a quota that covers the name.
  std::vector<std::string> match_contains;
  // Objects in one of these scopes need a quota with the scope.
  std::vector<api::quota::ScopeSelector> match_scopes;
};

// Without a configuration nothing is limited. Errors: `limitedResources[0].resource: Required
// value`.
base::Result<std::vector<LimitedResource>> ParseConfig(const admission::PluginContext& context);

}  // namespace portcullis::plugins::resource_quota
