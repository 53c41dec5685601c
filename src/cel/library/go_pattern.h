// SPDX-License-Identifier: Apache-2.0

// Regular expressions of Go's regexp package in the words of RE2, which has nearly the same
// (https://pkg.go.dev/regexp/syntax).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::cel {

// `(?<name>…)` becomes `(?P<name>…)` and `\p{Letter}` becomes `\p{L}`; what Go alone refuses is
// refused. Whatever else is wrong is left for RE2 to find. Errors: `invalid named capture: `(?<n``.
base::Result<std::string> TranslateGoPattern(std::string_view pattern);

}  // namespace portcullis::cel
