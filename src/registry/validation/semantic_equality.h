// SPDX-License-Identifier: Apache-2.0

// apiequality.Semantic.DeepEqual (pkg/api/equality) of decoded values.
#pragma once

#include "json/value.h"

namespace portcullis::registry {

// Whether `a` and `b`, decoded into the same type, are equal but for lists that are empty in one and
// absent in the other. The parameters of a driver are raw JSON, which Go compares as the bytes it is:
// the order of their members and those that are null count.
bool SemanticallyEqual(json::Value a, json::Value b);

}  // namespace portcullis::registry
