// SPDX-License-Identifier: Apache-2.0

// Decoded JSON as Go prints it.
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::api::patch {

// %v: map[a:1 b:[x y]], <nil>, 1.5.
std::string GoValueText(json::Value value);
// %#v: map[string]interface {}{"a":1, "b":[]interface {}{"x", "y"}}.
std::string GoLiteralText(json::Value value);
// %T of decoded JSON: "string", "int64", "float64", "bool", "map[string]interface {}",
// "[]interface {}", "<nil>".
std::string_view GoTypeName(json::Value value);

}  // namespace portcullis::api::patch
