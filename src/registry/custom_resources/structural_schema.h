// SPDX-License-Identifier: Apache-2.0

// Structural schemas: what an openAPIV3Schema of a CustomResourceDefinition must look like
// (Kubernetes documentation, "Specifying a structural schema").
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Checks the schema (a JSONSchemaProps object) at `path`; appends what is wrong. Returns whether it has
// the structural form and its defaults fit, whatever else is wrong.
bool ValidateStructuralSchema(json::Value props, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
