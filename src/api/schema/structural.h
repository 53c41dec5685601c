// SPDX-License-Identifier: Apache-2.0

// Schemas of custom resources, made from the structural schema in their definition.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

// The schema of a whole object: `props` is openAPIV3Schema (null: everything is allowed),
// `object_meta` becomes the schema of metadata. Everything needed is copied into the pool, without
// descriptions. `preserves`: unknown fields stay everywhere (spec.preserveUnknownFields of old definitions).
const Schema* MakeStructural(SchemaPool& pool, json::Value props, const Schema* object_meta,
                             bool preserves = false);

// The default that a list gives its items, a map its values; null if there is none, and for built-in kinds.
json::Value DefaultOfElement(const Schema& container);

}  // namespace portcullis::api::schema
