// SPDX-License-Identifier: Apache-2.0

// Difference of two documents: a JSON Patch (RFC 6902) of `add`, `remove` and `replace`, for people
// to read and for programs to apply.
//
// Subtrees that both documents share (see value.h) are not looked at, so the cost follows the size
// of the change. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "json/value.h"

namespace portcullis::json {

inline constexpr std::ptrdiff_t kNewElement = -1;

// For each element of the list `after` the element of `before` that it stands for, ascending, or
// kNewElement. Equal elements at both ends stand for each other; between them, elements with equal
// "name" members, or else elements at the same position in lists of the same size, or equal ones.
std::vector<std::ptrdiff_t> AlignElements(Value before, Value after);

// The operations that turn `before` into `after`, [] if they are equal. A null `before` gives one
// `add` of the whole document. Their values are those of `after`, not copied.
Value Diff(Arena& arena, Value before, Value after);

}  // namespace portcullis::json
