// SPDX-License-Identifier: Apache-2.0

// What is wrong with CustomResourceDefinitions (apiextensions-apiserver,
// pkg/apis/apiextensions/validation). Pure functions; any thread.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

void ValidateCustomResourceDefinition(const Context& ctx, json::Value object,
                                      api::FieldErrors& errors);
void ValidateCustomResourceDefinitionUpdate(const Context& ctx, json::Value object, json::Value old,
                                            api::FieldErrors& errors);

}  // namespace portcullis::registry
