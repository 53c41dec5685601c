// SPDX-License-Identifier: Apache-2.0

// Checks of `status.conditions` (apimachinery/pkg/apis/meta/v1/validation). Pure functions.
#pragma once

#include "api/field_error.h"
#include "json/value.h"

namespace portcullis::registry {

// Of a list of metav1.Condition.
void ValidateConditions(json::Value conditions, const api::FieldPath& path,
                        api::FieldErrors& errors);

}  // namespace portcullis::registry
