// SPDX-License-Identifier: Apache-2.0

// White space as Go's unicode and strings packages have it. Pure functions.
#pragma once

#include <string_view>

namespace portcullis::golang {

// unicode.IsSpace: ASCII's six, and those of Unicode: U+0085, U+00A0, U+2003, U+3000 …
bool IsSpace(char32_t rune);

// strings.TrimSpace: without the white space at both ends.
std::string_view TrimSpace(std::string_view text);

}  // namespace portcullis::golang
