// The switches of --feature-gates, with Kubernetes' defaults of the release for those that plugins
// ask about.
#pragma once

#include <memory>

#include "admission/plugin.h"
#include "server/options.h"

namespace portcullis::server {

// `options` outlives the result.
std::unique_ptr<admission::FeatureGates> MakeFeatureGates(const Options& options);

}  // namespace portcullis::server
