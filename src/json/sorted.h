// SPDX-License-Identifier: Apache-2.0

// Documents with their members in the order of their names at every level: how Go writes what it
// holds as a map.
#pragma once

#include <vector>

#include "json/value.h"

namespace portcullis::json {

// `value` with sorted members; what is in order already is shared, not copied, and keeps the text it
// was read from.
Value Sorted(Arena& arena, Value value);
bool IsSorted(Value value);

bool HasLowerName(const Member& a, const Member& b);
// The members of this object alone in the order of their names. They are those of `object`: valid as
// long as its arena. Empty for what is no object.
std::vector<const Member*> MembersByName(Value object);
// Appends them to `out`.
void AppendMembersByName(Value object, std::vector<const Member*>& out);

}  // namespace portcullis::json
