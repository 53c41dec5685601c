// SPDX-License-Identifier: Apache-2.0

// JSON Pointer (RFC 6901): "/metadata/labels/app.kubernetes.io~1name".
//
// Pure functions. `-` and out-of-range indices address nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

// The reference tokens, unescaped; none for "". Fails with BadRequest if the text does not begin
// with "/" or has a "~" that is not followed by 0 or 1.
base::Result<std::vector<std::string>> ParsePointer(std::string_view pointer);

// The place the pointer addresses; no value if there is none or the pointer is malformed.
std::optional<Value> Resolve(Value root, std::string_view pointer);

// "~" -> "~0", "/" -> "~1".
std::string EscapeToken(std::string_view token);
// "~1" -> "/", then "~0" -> "~"; other tildes stay.
std::string UnescapeToken(std::string_view token);

}  // namespace portcullis::json
