// SPDX-License-Identifier: Apache-2.0

// Makes the nodes of an Ast that is being parsed. The nodes belong to the Ast, which must outlive the
// builder. Belongs to one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "cel/syntax/ast.h"

namespace portcullis::cel {

class AstBuilder {
 protected:
  explicit AstBuilder(Ast& ast) : ast_(ast) {}
  ~AstBuilder() = default;

  Expr* New(ExprKind kind, std::int32_t offset) { return ast_.NewExpr(kind, offset); }

  Expr* Const(Value value, std::int32_t offset) {
    Expr* expr = New(ExprKind::kConst, offset);
    expr->constant = value;
    return expr;
  }

  Expr* ErrorNode(std::int32_t offset = -1) { return Const(Value::Null(), offset); }

  Expr* NewCall(std::string_view function, std::int32_t offset, std::span<Expr* const> args,
                bool member = false) {
    Expr* expr = New(ExprKind::kCall, offset);
    expr->name = function;
    expr->args = ast_.Copy(args);
    expr->member_call = member;
    return expr;
  }

  Expr* NewCall(std::string_view function, std::int32_t offset, std::initializer_list<Expr*> args) {
    return NewCall(function, offset, std::span<Expr* const>(args.begin(), args.size()));
  }

  // Whether it stands for something that could not be read.
  static bool IsErrorNode(const Expr* expr) {
    return expr->kind == ExprKind::kConst && expr->offset < 0;
  }

  // Long chains of && and || become balanced trees, so that their depth is logarithmic.
  Expr* Balance(std::string_view function, std::span<Expr* const> terms,
                std::span<const std::int32_t> offsets) {
    if (terms.size() == 1) return terms[0];
    const std::size_t half = (terms.size() + 1) / 2;
    Expr* left = Balance(function, terms.subspan(0, half), offsets.subspan(0, half - 1));
    Expr* right = Balance(function, terms.subspan(half), offsets.subspan(half));
    return NewCall(function, offsets[half - 1], {left, right});
  }

  Ast& ast_;
};

}  // namespace portcullis::cel
