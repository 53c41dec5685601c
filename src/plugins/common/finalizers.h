// SPDX-License-Identifier: Apache-2.0

// Finalizers that plugins give to new objects, so that a controller can hold their deletion up.
#pragma once

#include <string_view>

#include "admission/request.h"

namespace portcullis::plugins::common {

// Adds `finalizer` behind the others of the request's object, unless it is among them.
void AddFinalizer(admission::Request& request, std::string_view finalizer);

}  // namespace portcullis::plugins::common
