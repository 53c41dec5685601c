// SPDX-License-Identifier: Apache-2.0

// The part of `schema import` that turns OpenAPI definitions into the catalog's type table.
#pragma once

#include "api/catalog/go_facts.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::catalog {

// {definition name: schema} of a v2 document and of all v3 documents; where both know a definition,
// v2's is taken, with the defaults of v3's fields.
base::Result<json::Value> CollectDefinitions(json::Arena& arena, json::Value openapi_v2,
                                             json::Value openapi_v3);

// The `types` member of the catalog.
json::Value ImportTypes(json::Arena& arena, json::Value definitions, const GoFacts& facts);

}  // namespace portcullis::api::catalog
