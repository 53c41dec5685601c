// SPDX-License-Identifier: Apache-2.0

// Quantities that are canonical at a glance.
#pragma once

#include <string_view>

namespace portcullis::api {

// Whether Quantity::Parse() takes `text` and ToString() gives it again, as far as that is seen without parsing: true
// of most texts of which it is so, and of no other.
bool IsCanonicalQuantity(std::string_view text);

}  // namespace portcullis::api
