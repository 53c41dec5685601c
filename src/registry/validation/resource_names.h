// SPDX-License-Identifier: Apache-2.0

// The names that amounts may have: in containers, in limit ranges and in quotas
// (pkg/apis/core/validation, ValidateResourceQuotaResourceName and its siblings).
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// Qualified; a name without a prefix must be one that Kubernetes knows.
void CheckNameOfResource(std::string_view name, const FieldPath& path, FieldErrors& errors);
// Also one that containers may ask for.
void CheckNameOfContainerResource(std::string_view name, const FieldPath& path,
                                  FieldErrors& errors);
// Also one that quotas know.
void CheckNameOfQuotaResource(std::string_view name, const FieldPath& path, FieldErrors& errors);

// Of Kubernetes itself: no prefix, or one that ends in kubernetes.io.
bool IsNativeResource(std::string_view name);
bool IsStandardQuotaResource(std::string_view name);
// Devices and other things of which there are only whole ones.
bool IsIntegerResource(std::string_view name);
// Whether a limit may be larger than the request.
bool IsOvercommitAllowed(std::string_view name);

// `must be greater than or equal to 0`, `must be an integer`.
void CheckAmountOfResource(std::string_view name, const api::Quantity& amount,
                           const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
