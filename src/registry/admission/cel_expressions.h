// SPDX-License-Identifier: Apache-2.0

// CEL as validation uses it: expressions are compiled as evaluation will compile them.
#pragma once

#include <memory>
#include <string>

#include "api/field_error.h"
#include "kube_cel/compiler.h"

namespace portcullis::registry {

// Compiles and adds what is wrong: Invalid, or an internal error if the program cannot be made.
// Returns the expression.
std::shared_ptr<const kube_cel::Expression> CheckExpression(
    kube_cel::Compiler& compiler, const kube_cel::Scope& scope, std::string_view text,
    kube_cel::Expected expected, const api::FieldPath& path, api::FieldErrors& errors);

}  // namespace portcullis::registry
