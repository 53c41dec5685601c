// SPDX-License-Identifier: Apache-2.0

// Warnings about files of one volume that hide one another: two keys of a ConfigMap, Secret,
// downward API or projected volume in the same path, or one in a folder that is the other's path.
// Free of state; any thread.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace portcullis::registry {

// At most as many texts as a response can carry.
void VolumePathWarnings(json::Value volumes, std::vector<std::string>& warnings);

}  // namespace portcullis::registry
