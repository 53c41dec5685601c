// The switches of --feature-gates, with Kubernetes' defaults of the release for those that plugins
// ask about.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "admission/plugin.h"

namespace portcullis::engine {

// `given` are the gates that were set, by name; `version` is the release, as "1.36".
std::unique_ptr<admission::FeatureGates> MakeFeatureGates(std::map<std::string, bool> given,
                                                          std::string_view version);

}  // namespace portcullis::engine
