// SPDX-License-Identifier: Apache-2.0

// The conditions of a status (Kubernetes API conventions, "Typical status properties"): a list with
// one element for each type.
#pragma once

#include <string_view>

#include "json/value.h"

namespace portcullis::api {

// The first element of status.conditions of that type; null if there is none.
json::Value ConditionOf(json::Value object, std::string_view type);
// There is one, and its status is "True".
bool HasTrueCondition(json::Value object, std::string_view type);

}  // namespace portcullis::api
