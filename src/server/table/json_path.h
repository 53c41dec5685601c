// SPDX-License-Identifier: Apache-2.0

// JSONPath (api/json_path.h) as the printer columns of custom resources use it.
//
//   FindJsonPath(arena, object, ".status.conditions[?(@.type==\"Ready\")].status")
#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::server::table {

// All values the path leads to, in order; none if it leads nowhere, to more than 100,000 values on its
// way, or is no path. They live in `object` and `arena`.
std::vector<json::Value> FindJsonPath(json::Arena& arena, json::Value object,
                                      std::string_view path);

}  // namespace portcullis::server::table
