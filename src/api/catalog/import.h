// SPDX-License-Identifier: Apache-2.0

// Import makes a catalog file from what an apiserver publishes: the engine of
// `portcullis schema import`. The file is described in docs/internals/catalog.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::catalog {

struct ImportInput {
  // {"aggregated": {"/api": …, "/apis": …}, "legacy": {path: document}, "servedByDefault": {…}}.
  // Without servedByDefault everything counts as served.
  json::Value discovery;
  json::Value openapi_v2;     // null if there is none; one of the two must be given
  json::Value openapi_v3;     // {"index": …, "documents": {path: document}} or null
  json::Value table_columns;  // {"group/version/resource": [columns]} or null
  // What a server serves only with feature gates, or does not serve any more
  // (src/api/data/feature-gated.json, legacy-kinds.json): each {"groups": items of aggregated
  // discovery, "definitions": …, "columns": …}; counts as not served by default.
  std::vector<json::Value> additions;
  // Facts OpenAPI does not tell about Go types (src/api/data/go-facts.txt); "" for none.
  std::string_view go_facts;
};

base::Result<std::string> Import(const ImportInput& input);

}  // namespace portcullis::api::catalog
