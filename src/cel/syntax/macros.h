// SPDX-License-Identifier: Apache-2.0

// What a macro expander works with: makes nodes at the position of the macro call, and reports
// errors. Lives only while its call is expanded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cel/syntax/ast.h"

namespace portcullis::cel {

inline constexpr std::string_view kAccumulator = "@result";

class MacroContext {
 public:
  MacroContext(Ast& ast, Issues& issues, std::int32_t offset)
      : ast_(ast), issues_(issues), offset_(offset) {}

  // Reports an issue at `where` (or at the macro call if null); returns a placeholder node.
  Expr* Fail(const Expr* where, std::string message);

  Expr* Bool(bool value);
  Expr* Int(std::int64_t value);
  Expr* Ident(std::string_view name);
  Expr* Accumulator() { return Ident(kAccumulator); }
  Expr* List(std::initializer_list<Expr*> elements);
  Expr* Map();
  Expr* Call(std::string_view function, std::initializer_list<Expr*> args);
  Expr* MemberCall(std::string_view function, std::initializer_list<Expr*> receiver_and_args);
  Expr* TestOnlySelect(Expr* select);
  Expr* Loop(const Comprehension& comprehension);
  // `name` bound to `value` inside `result`.
  Expr* Bind(std::string_view name, Expr* value, Expr* result);
  // A deep copy, for expansions that use an argument twice.
  Expr* Copy(const Expr* expr);

 private:
  Expr* New(ExprKind kind) { return ast_.NewExpr(kind, offset_); }

  Ast& ast_;
  Issues& issues_;
  std::int32_t offset_;
};

// The name if the node is a plain identifier, else "".
std::string_view SimpleName(const Expr* expr);

}  // namespace portcullis::cel
