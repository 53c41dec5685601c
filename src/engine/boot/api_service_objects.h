// SPDX-License-Identifier: Apache-2.0

// The APIServices that say which groups and versions this server serves by itself. Nothing acts on
// them here; clients list them (`kubectl get apiservices`) and wait for them to be available.
#pragma once

#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::engine {

// One for each group and version of the catalog's built-in resources.
std::vector<json::Value> ApiServiceObjects(json::Arena& arena,
                                           const api::catalog::Catalog& catalog);

}  // namespace portcullis::engine
