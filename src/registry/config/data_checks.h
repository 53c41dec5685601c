// SPDX-License-Identifier: Apache-2.0

// Checks of `data` that ConfigMaps and Secrets share (pkg/apis/core/validation). Pure functions.
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

inline constexpr std::size_t kMostDataBytes = 1024 * 1024;

// The number of bytes that a base64 text decodes to.
std::size_t DecodedSize(std::string_view text);
// If `old` has `immutable: true`: that stays, and so do `fields`.
void CheckImmutableData(json::Value object, json::Value old,
                        std::initializer_list<std::string_view> fields, FieldErrors& errors);

}  // namespace portcullis::registry
