// SPDX-License-Identifier: Apache-2.0

// The defaults that are more than "set this field": named functions the rules call.
#pragma once

#include <string_view>

#include "json/value.h"

namespace portcullis::api::schema {

// Returns the value with the function's defaults, or the value itself.
using DefaultFunction = json::Value (*)(json::Arena& arena, json::Value value);

// Null if there is no function of this name.
DefaultFunction FindDefaultFunction(std::string_view name);

}  // namespace portcullis::api::schema
