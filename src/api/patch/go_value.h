// SPDX-License-Identifier: Apache-2.0

// Decoded JSON as Go prints and compares it.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::api::patch {

// The one field of a value of a Go program that is no JSON: its Go type and how it is printed
// (ForeignValue(), typed.h). No name that Kubernetes or a client gives a field.
inline constexpr std::string_view kForeignField = "\x01foreign";

// %v: map[a:1 b:[x y]], <nil>, 1.5.
std::string GoValueText(json::Value value);
// %#v: map[string]interface {}{"a":1, "b":[]interface {}{"x", "y"}}.
std::string GoLiteralText(json::Value value);
// %T of decoded JSON: "string", "int64", "float64", "bool", "map[string]interface {}",
// "[]interface {}", "<nil>".
std::string_view GoTypeName(json::Value value);
// Numbers are equal by what they are, not by how they are written: 2 and 2.0.
bool IsEqualInGo(const json::Value& a, const json::Value& b);

}  // namespace portcullis::api::patch
