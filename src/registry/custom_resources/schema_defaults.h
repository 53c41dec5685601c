// SPDX-License-Identifier: Apache-2.0

// Defaults in the schema of a CustomResourceDefinition: each is a value of its schema, holds
// nothing that would be pruned, and is refused by no rule (apiextensions-apiserver,
// pkg/apiserver/schema/defaulting/validation.go).
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// REQUIRES: the schema at `path` is structural.
void ValidateSchemaDefaults(json::Value props, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
