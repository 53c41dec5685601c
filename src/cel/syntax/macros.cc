// SPDX-License-Identifier: Apache-2.0

#include "cel/syntax/macros.h"

#include <vector>

namespace portcullis::cel {

Expr* MacroContext::Fail(const Expr* where, std::string message) {
  const bool known = where && where->offset >= 0;
  issues_.Add(PositionOf(ast_.source(), known ? where->offset : offset_), std::move(message));
  return Bool(false);
}

Expr* MacroContext::Bool(bool value) {
  Expr* expr = New(ExprKind::kConst);
  expr->constant = Value::Bool(value);
  return expr;
}

Expr* MacroContext::Int(std::int64_t value) {
  Expr* expr = New(ExprKind::kConst);
  expr->constant = Value::Int(value);
  return expr;
}

Expr* MacroContext::Ident(std::string_view name) {
  Expr* expr = New(ExprKind::kIdent);
  expr->name = name;
  return expr;
}

Expr* MacroContext::List(std::initializer_list<Expr*> elements) {
  Expr* expr = New(ExprKind::kList);
  expr->args = ast_.Copy(std::span<Expr* const>(elements.begin(), elements.size()));
  return expr;
}

Expr* MacroContext::Map() { return New(ExprKind::kMap); }

Expr* MacroContext::Call(std::string_view function, std::initializer_list<Expr*> args) {
  Expr* expr = New(ExprKind::kCall);
  expr->name = function;
  expr->args = ast_.Copy(std::span<Expr* const>(args.begin(), args.size()));
  return expr;
}

Expr* MacroContext::MemberCall(std::string_view function,
                               std::initializer_list<Expr*> receiver_and_args) {
  Expr* expr = Call(function, receiver_and_args);
  expr->member_call = true;
  return expr;
}

Expr* MacroContext::TestOnlySelect(Expr* select) {
  Expr* expr = New(ExprKind::kSelect);
  expr->name = select->name;
  expr->operand = select->operand;
  expr->test_only = true;
  return expr;
}

Expr* MacroContext::Loop(const Comprehension& comprehension) {
  Expr* expr = New(ExprKind::kComprehension);
  void* memory = ast_.arena().Allocate(sizeof(Comprehension), alignof(Comprehension));
  expr->loop = new (memory) Comprehension(comprehension);
  return expr;
}

Expr* MacroContext::Bind(std::string_view name, Expr* value, Expr* result) {
  return Loop({.variable = "#unused",
               .accumulator = name,
               .range = List({}),
               .init = value,
               .condition = Bool(false),
               .step = Ident(name),
               .result = result});
}

Expr* MacroContext::Copy(const Expr* expr) {
  if (!expr) return nullptr;
  Expr* copy = ast_.NewExpr(expr->kind, expr->offset);
  const std::int32_t id = copy->id;
  *copy = *expr;
  copy->id = id;
  copy->operand = Copy(expr->operand);
  std::vector<Expr*> args;
  for (const Expr* arg : expr->args) args.push_back(Copy(arg));
  copy->args = ast_.Copy(std::span<Expr* const>(args));
  std::vector<Entry> entries;
  for (Entry entry : expr->entries) {
    entry.key = Copy(entry.key);
    entry.value = Copy(entry.value);
    entries.push_back(entry);
  }
  copy->entries = ast_.Copy(std::span<const Entry>(entries));
  if (expr->loop) {
    Comprehension loop = *expr->loop;
    // Body and filter are parts of the step; the copy evaluates the general form.
    loop.form = LoopForm::kGeneric;
    loop.body = nullptr;
    loop.filter = nullptr;
    for (Expr** part : {&loop.range, &loop.init, &loop.condition, &loop.step, &loop.result}) {
      *part = Copy(*part);
    }
    void* memory = ast_.arena().Allocate(sizeof(Comprehension), alignof(Comprehension));
    copy->loop = new (memory) Comprehension(loop);
  }
  return copy;
}

std::string_view SimpleName(const Expr* expr) {
  if (expr->kind != ExprKind::kIdent || expr->name.starts_with('.')) return {};
  return expr->name;
}

}  // namespace portcullis::cel
