// SPDX-License-Identifier: Apache-2.0

// What the sources of this folder share; private to it.
#pragma once

#include "api/catalog/catalog.h"
#include "api/names.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::engine {

// The schema of a kind, or null; `custom` tells whether the kind is that of a custom resource.
const api::schema::Schema* SchemaOf(const api::catalog::Catalog& catalog,
                                    const api::GroupVersionKind& kind, bool& custom);

// The object with kind and apiVersion of `kind`.
json::Value WithTypeMeta(json::Arena& arena, json::Value object, const api::GroupVersionKind& kind);

}  // namespace portcullis::engine
