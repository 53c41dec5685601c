// SPDX-License-Identifier: Apache-2.0

// Documents with their members in the order of their names at every level: how Go writes what it
// holds as a map.
#pragma once

#include "json/value.h"

namespace portcullis::json {

// `value` with sorted members; what is in order already is shared, not copied, and keeps the text it
// was read from.
Value Sorted(Arena& arena, Value value);
bool IsSorted(Value value);

}  // namespace portcullis::json
