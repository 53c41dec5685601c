// SPDX-License-Identifier: Apache-2.0

// Decoded JSON as Go's %v prints it: map[a:1 b:[x y]], <nil>, 1.5.
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::api::patch {

std::string GoValueText(json::Value value);
// %T of decoded JSON: "string", "int64", "float64", "bool", "map[string]interface {}",
// "[]interface {}", "<nil>".
std::string_view GoTypeName(json::Value value);

}  // namespace portcullis::api::patch
