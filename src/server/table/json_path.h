// SPDX-License-Identifier: Apache-2.0

// JSONPath as the printer columns of custom resources use it (k8s.io/client-go/util/jsonpath, one
// expression without braces): fields, quoted keys, indices, slices, wildcards, descent, filters.
//
//   FindJsonPath(object, ".status.conditions[?(@.type==\"Ready\")].status")
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::server::table {

// All values the path leads to, in order; none if it leads nowhere or is no path.
std::vector<json::Value> FindJsonPath(json::Value object, std::string_view path);

}  // namespace portcullis::server::table
