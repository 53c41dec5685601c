// SPDX-License-Identifier: Apache-2.0

// The data files of this folder, as they are in the binary.
#pragma once

#include <string_view>

namespace portcullis::release {

std::string_view EmbeddedFeatureGates();     // data/feature.gates
std::string_view EmbeddedBehaviorFacts();    // data/behavior.facts
std::string_view EmbeddedServedResources();  // data/served.resources

}  // namespace portcullis::release
