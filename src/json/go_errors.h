// SPDX-License-Identifier: Apache-2.0

// Pieces of the error texts of Go's encoding/json.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::json {

// `invalid character '<c>' <context>`, the character quoted as Go quotes it (its byte taken as a
// Latin-1 code point).
std::string InvalidCharacter(char c, std::string_view context);

// What "cannot unmarshal <…> into Go value" calls a value: object, array, string, number, bool,
// null.
std::string_view GoTypeName(const Value& value);

}  // namespace portcullis::json
