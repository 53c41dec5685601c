// SPDX-License-Identifier: Apache-2.0

// What storage classes, volume attributes classes and storage capacities share
// (pkg/apis/storage/validation). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// The name of a driver.
void CheckProvisioner(json::Value value, const FieldPath& path, FieldErrors& errors);
// Not too many parameters, not too large, each with a name.
void CheckParameters(json::Value parameters, bool may_be_empty, const FieldPath& path,
                     FieldErrors& errors);
// Deprecated labels of nodes.
void WarnOfLabel(std::string_view key, const FieldPath& path, std::vector<std::string>& warnings);

}  // namespace portcullis::registry
