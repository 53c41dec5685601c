// SPDX-License-Identifier: Apache-2.0

// What is wrong with Services (pkg/apis/core/validation).
// Pure functions; any thread.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

void ValidateService(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateServiceUpdate(const Context& ctx, json::Value object, json::Value old,
                           api::FieldErrors& errors);

}  // namespace portcullis::registry
