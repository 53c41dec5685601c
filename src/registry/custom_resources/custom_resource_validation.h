// SPDX-License-Identifier: Apache-2.0

// Custom resources: what is wrong with one by the schema of its version, its scale subresource, the
// resources embedded in it and the rules of its schema (apiextensions-apiserver,
// pkg/registry/customresource).
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// `old` is null for a new object. For the status subresource only the status is looked at.
// Nothing if the context's resource is no custom one.
void ValidateCustomResource(const Context& ctx, json::Value object, const json::Value* old,
                            FieldErrors& errors);

// About finalizers that the object has and `old` (may be null) has not.
void CustomResourceWarnings(json::Value object, json::Value old,
                            std::vector<std::string>& warnings);

}  // namespace portcullis::registry
