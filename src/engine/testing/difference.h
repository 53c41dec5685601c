// SPDX-License-Identifier: Apache-2.0

// The comparison by which scenarios judge objects.
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::engine::testing {

// What differs between `wanted` and the part of `actual` that it speaks of, below `path`; "" if
// nothing. A null stands for a field that is absent.
std::string Difference(json::Value wanted, json::Value actual, const std::string& path);

}  // namespace portcullis::engine::testing
