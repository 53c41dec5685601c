// SPDX-License-Identifier: Apache-2.0

// The checks of metadata.initializers and of the names of initializers (Kubernetes 1.7 to 1.13,
// docs/legacy.md), with their texts.
#pragma once

#include <string_view>

#include "api/field_error.h"
#include "api/field_path.h"
#include "json/value.h"
#include "release/release.h"

namespace portcullis::registry {

// A fully qualified name: at least three segments.
void CheckFullyQualifiedName(std::string_view name, const api::FieldPath& path,
                             const release::Release& release, api::FieldErrors& errors);

// Of any object; nothing if it has none.
void CheckInitializers(json::Value object, const release::Release& release,
                       api::FieldErrors& errors);
// Whether the one may become the other: initialization neither begins anew nor changes its result.
void CheckInitializersUpdate(json::Value object, json::Value old, api::FieldErrors& errors);

}  // namespace portcullis::registry
