// SPDX-License-Identifier: Apache-2.0

// Expressions that select devices (k8s.io/dynamic-resource-allocation/cel).
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// What is wrong with the expression at `path`, its estimated cost included. Any thread.
void CheckDeviceExpression(std::string_view expression, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
