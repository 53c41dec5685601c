// SPDX-License-Identifier: Apache-2.0

// The order in which the Go server writes an object of a built-in kind: fields of structs as they
// are declared, maps by key.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

// `value` in Go's order; what stands in order already is shared, not copied. Fields that the schema
// does not know come last. What `value` shares with `known`, an earlier state of it in that order, is
// not looked at. `has_empty_list` becomes true if a field that the schema knows holds an empty list,
// outside what is shared with `known`.
json::Value InGoOrder(json::Arena& arena, const Schema& schema, json::Value value,
                      json::Value known = {}, bool* has_empty_list = nullptr);

}  // namespace portcullis::api::schema
