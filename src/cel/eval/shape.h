// SPDX-License-Identifier: Apache-2.0

// Questions about the shape of an expression that decide how it is planned.
#pragma once

#include <array>
#include <string_view>

#include "cel/syntax/ast.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {

inline bool IsConditional(const Expr* expr) {
  return expr->kind == ExprKind::kCall && expr->name == op::kConditional;
}

inline bool IsIndexCall(const Expr* expr) {
  return expr->name == op::kIndex || expr->name == op::kOptionalIndex ||
         expr->name == op::kOptionalSelect;
}

// Does cel-go resolve it as an attribute, uncounted where it is a branch or an index?
inline bool IsAttributeExpr(const Expr* expr) {
  if (expr->kind == ExprKind::kSelect || expr->kind == ExprKind::kIdent) return true;
  return expr->kind == ExprKind::kCall && (IsIndexCall(expr) || IsConditional(expr));
}

// Conversions of constants are done once, when the program is made.
inline constexpr std::array<std::string_view, 10> kConversions = {
    "bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"};

inline bool IsConversion(std::string_view function) {
  for (const std::string_view conversion : kConversions) {
    if (conversion == function) return true;
  }
  return false;
}

}  // namespace portcullis::cel
