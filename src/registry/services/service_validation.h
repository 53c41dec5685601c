// SPDX-License-Identifier: Apache-2.0

// What is wrong with Services (pkg/apis/core/validation).
// Pure functions; any thread.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Whether an update that was `sent` (Context::sent) names families, and fewer than there were.
bool ReducesFamilies(json::Value sent, json::Value old);
// Addresses, families and their policy, which kube-apiserver judges before anything else.
void CheckServiceAddresses(const Context& ctx, json::Value object, bool reduces_families,
                           api::FieldErrors& errors);
void ValidateService(const Context& ctx, json::Value object, api::FieldErrors& errors);
void ValidateServiceUpdate(const Context& ctx, json::Value object, json::Value old,
                           api::FieldErrors& errors);

}  // namespace portcullis::registry
