// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/cel_expressions.h"

namespace portcullis::registry {
std::shared_ptr<const kube_cel::Expression> CheckExpression(
    kube_cel::Compiler& compiler, const kube_cel::Scope& scope, std::string_view text,
    kube_cel::Expected expected, const api::FieldPath& path, api::FieldErrors& errors) {
  auto expression = compiler.Compile(scope, text, expected);
  if (expression->ok()) return expression;
  if (expression->is_internal()) {
    errors.push_back(api::InternalFieldError(path, expression->error()));
  } else {
    errors.push_back(api::Invalid(path, text, expression->error()));
  }
  return expression;
}

}  // namespace portcullis::registry
