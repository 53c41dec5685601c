// SPDX-License-Identifier: Apache-2.0

// How a field error quotes a string of a type that has a name in Go, as enumerations, names of
// resources and numbers-or-strings have: as JSON, unlike a plain string.
#pragma once

#include <string_view>

#include "api/field_error.h"

namespace portcullis::api {

BadValue NamedValue(std::string_view text);

}  // namespace portcullis::api
