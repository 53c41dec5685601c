// SPDX-License-Identifier: Apache-2.0

// Go structs whose JSON has the fields of another struct that they embed: Go names the embedded one in the path
// of an error.
#pragma once

#include <string_view>
#include <vector>

namespace portcullis::api::schema {

// The structs that the field of `owner` is embedded with, outermost first; none if it is the owner's own.
std::vector<std::string_view> EmbeddedStructs(std::string_view owner, std::string_view field);

}  // namespace portcullis::api::schema
