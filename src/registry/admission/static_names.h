// SPDX-License-Identifier: Apache-2.0

// Names of admission configurations that come from files: they end in `.static.k8s.io`
// (kubernetes/pkg/apis/admissionregistration/validation/static_suffix.go).
#pragma once

#include <string>
#include <vector>

#include "api/field_error.h"
#include "json/value.h"
#include "registry/strategy.h"

namespace portcullis::registry {

// With the gate on, a new object cannot have such a name.
void CheckStaticName(const Context& ctx, json::Value object, api::FieldErrors& errors);
// With the gate off, the user of such a name is warned.
void WarnOfStaticName(const Context& ctx, json::Value object, std::vector<std::string>& warnings);

}  // namespace portcullis::registry
