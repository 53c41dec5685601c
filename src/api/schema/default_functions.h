// SPDX-License-Identifier: Apache-2.0

// The defaults that are more than "set this field": named functions the rules call.
#pragma once

#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace portcullis::api::schema {

// Returns the value with the function's defaults, or the value itself.
using DefaultFunction = json::Value (*)(json::Arena& arena, json::Value value);

// Null if there is no function of this name.
DefaultFunction FindDefaultFunction(std::string_view name);

// "timeAdded", which needs a clock: a taint of a device has been added when it is first seen.
inline constexpr std::string_view kTimeAdded = "timeAdded";
json::Value TimeAdded(json::Arena& arena, json::Value taint, const base::Clock& clock);

}  // namespace portcullis::api::schema
