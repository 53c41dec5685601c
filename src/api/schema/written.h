// SPDX-License-Identifier: Apache-2.0

// Numbers as a client reads them where Go has written them.
#pragma once

#include "json/value.h"

namespace portcullis::api::schema {

// `value` with each number in the form in which it is read back after it has been stored, so that it is
// equal to what has been stored of it: 1.0 is 1, 1e2 is 100. What holds no such number is shared, not
// copied, and keeps the text it was read from.
json::Value AsWritten(json::Arena& arena, json::Value value);

// The same of a number that Go holds as a float64, which keeps the first 15 to 17 digits of an integer.
// Infinite numbers are returned as they are.
json::Value AsFloat64(json::Arena& arena, json::Value number);

}  // namespace portcullis::api::schema
