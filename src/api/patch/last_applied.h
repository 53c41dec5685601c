// SPDX-License-Identifier: Apache-2.0

// The annotation in which client-side apply keeps the configuration that it sent last. `kubectl apply --server-side`
// takes over the fields that it names, and keeps it in step while both ways of applying are in use (KEP-555,
// "Upgrading from client-side apply to server-side apply").
//
// Values live in the arena. Thread-safe.
#pragma once

#include <string_view>

#include "api/patch/field_set.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::patch {

// The fields of the configuration whose values `live` still has. None if there is no annotation, if it is of
// another version than `api_version`, or does not fit the schema.
FieldSet FieldsLastApplied(json::Arena& arena, const schema::Schema& schema, json::Value live,
                           std::string_view api_version);

// `object` with `config` as its annotation, if it has the annotation; without it if its annotations
// would be too large together.
json::Value WithLastApplied(json::Arena& arena, json::Value object, json::Value config);

}  // namespace portcullis::api::patch
