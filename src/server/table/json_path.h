// SPDX-License-Identifier: Apache-2.0

// JSONPath (api/json_path.h) as the printer columns of custom resources use it.
//
//   const auto path = TRY(api::ParseJsonPath(".status.conditions[?(@.type==\"Ready\")].status"));
//   FindJsonPath(arena, object, path)
#pragma once

#include <vector>

#include "api/json_path.h"
#include "json/value.h"

namespace portcullis::server::table {

// All values the path leads to, in order; none if it leads nowhere or to more than 100,000 values on its
// way. They live in `object` and `arena`.
std::vector<json::Value> FindJsonPath(json::Arena& arena, json::Value object,
                                      const api::JsonPath& path);

}  // namespace portcullis::server::table
