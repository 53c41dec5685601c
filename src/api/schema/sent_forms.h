// SPDX-License-Identifier: Apache-2.0

// What a client has sent in a form that Go (reflect.DeepEqual) tells from the form in which it is stored: lists and maps
// that are empty, and quantities that are written otherwise (`0.5`, not `500m`). Decoding here loses both.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

struct SentForm {
  const Schema& schema;
  json::Value sent;
  json::Value decoded;
  bool in_list;  // it stands in an element of a list

  bool is_empty() const;  // an empty list or map
  bool is_rewritten_quantity() const;
};

// Whether `is` holds of a value in `sent`, the client's form of `decoded`; both have `schema`. Time: linear in `sent`.
bool AnySent(const Schema* schema, json::Value sent, json::Value decoded,
             bool (*is)(const SentForm& form), bool in_list = false);

}  // namespace portcullis::api::schema
