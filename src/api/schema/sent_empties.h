// SPDX-License-Identifier: Apache-2.0

// Empty lists and maps that a client has sent: Go tells them from absent ones (reflect.DeepEqual), decoding
// here drops them.
#pragma once

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

// What an empty list or map has become, and whether it stands in an element of a list.
using IsSentEmpty = bool (*)(json::Value decoded, bool in_list);

// Whether `is` holds of an empty list or map of `schema` in `sent`, the client's form of `decoded`.
// Time: linear in `sent`.
bool AnySentEmpty(const Schema* schema, json::Value sent, json::Value decoded, IsSentEmpty is,
                  bool in_list = false);

}  // namespace portcullis::api::schema
