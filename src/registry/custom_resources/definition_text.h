// SPDX-License-Identifier: Apache-2.0

// Parts of a CustomResourceDefinition as Go prints the internal types they are decoded into: every
// field of the struct, in its order and under its Go name.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::registry {

// A JSONSchemaProps object.
std::string SchemaText(json::Value props);
// The items of one, which is not null: a schema, or a list of schemas.
std::string ItemsText(json::Value items);
// `value`, decoded, with what decoding drops and Go tells from absent ones: the empty lists and maps of
// `sent`, the client's text of it, and each `items` that is no schema and no list of some, of which Go keeps a
// struct without content. The value itself if there is none.
json::Value WithSentForms(json::Arena& arena, json::Value value, json::Value sent);
// One of its x-kubernetes-validations.
std::string RuleText(json::Value rule);
// The Go name of the first field that is set and not in the list of those that a root schema with a
// status subresource may have; "" if there is none.
std::string_view FirstFieldNotForRoot(json::Value props);
// That list, as Go prints it.
std::string FieldsForRoot();

}  // namespace portcullis::registry
