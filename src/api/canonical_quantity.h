// SPDX-License-Identifier: Apache-2.0

// Quantities that are canonical at a glance.
#pragma once

#include <string_view>

namespace portcullis::api {

// True only if Quantity::Parse() accepts `text` and ToString() returns it unchanged. May be false for such a text: only
// its characters are looked at.
bool IsCanonicalQuantity(std::string_view text);

}  // namespace portcullis::api
