// SPDX-License-Identifier: Apache-2.0

// The operators on values. Each returns an error value where the operands do not fit.
#pragma once

#include "cel/value.h"

namespace portcullis::cel {

Value Add(json::Arena& arena, Value a, Value b);
Value Subtract(json::Arena& arena, Value a, Value b);
Value Multiply(json::Arena& arena, Value a, Value b);
Value Divide(json::Arena& arena, Value a, Value b);
Value Modulo(json::Arena& arena, Value a, Value b);
Value Negate(json::Arena& arena, Value a);
// `element in container`
Value Contains(json::Arena& arena, Value element, Value container);

// A timestamp if it is in CEL's range, else the error "timestamp overflow".
Value CheckedTimestamp(std::int64_t seconds, std::int64_t nanos, int offset_minutes = 0);

}  // namespace portcullis::cel
