// SPDX-License-Identifier: Apache-2.0

// Expressions that select devices (k8s.io/dynamic-resource-allocation/cel).
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// What is wrong with the expression at `path`, its estimated cost included. With the gate
// DRAConsumableCapacity, devices have allowMultipleAllocations. Any thread.
void CheckDeviceExpression(const Context& ctx, std::string_view expression, const FieldPath& path,
                           FieldErrors& errors);

}  // namespace portcullis::registry
