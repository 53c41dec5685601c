// SPDX-License-Identifier: Apache-2.0

// The difference of two values as Kubernetes shows it in "pod updates may not change fields":
// both printed as indented JSON of their internal Go types, then a unified diff with three lines of
// context and without file names.
#pragma once

#include <string>

#include "api/field_error.h"
#include "api/schema/schema.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// The JSON of the Go value: every field, under its Go name, absent ones as null, "", 0 or false. An
// absent list or map that is empty in `sent`, the same value as the client sent it (Context::sent; null
// if unknown), is shown empty.
std::string GoJson(const api::schema::Schema& schema, json::Value value, json::Value sent = {});
// The same as the value an error quotes: on one line. `definition` is the OpenAPI name of the v1
// type, or of the type of a list's elements; where the catalog does not tell it, the value as it is.
api::BadValue GoValue(const Context& ctx, std::string_view definition, json::Value value,
                      json::Value sent = {});
// `sent` is that of `after`.
std::string GoDiff(const api::schema::Schema& schema, json::Value before, json::Value after,
                   json::Value sent = {});

}  // namespace portcullis::registry
