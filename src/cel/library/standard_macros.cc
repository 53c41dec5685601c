// SPDX-License-Identifier: Apache-2.0

// Every macro becomes a comprehension in its general form, which the checker and the static cost
// see, with a note of its shape, from which the planner makes a faster loop.
#include "cel/library/standard_macros.h"

#include "cel/library/quantifiers.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel::macro {
namespace {

// The variable of a one-variable macro, or "" after reporting what is wrong with it.
std::string_view VariableOf(MacroContext& context, const Expr* arg, const char* complaint) {
  const std::string_view name = SimpleName(arg);
  if (name.empty()) {
    context.Fail(arg, complaint);
    return {};
  }
  if (name == kAccumulator || name == "__result__") {
    context.Fail(arg, "iteration variable overwrites accumulator variable");
    return {};
  }
  return name;
}

constexpr const char* kNotSimple = "argument must be a simple name";
constexpr const char* kNotIdentifier = "argument is not an identifier";

}  // namespace

Expr* Has(MacroContext& context, Expr*, Args args) {
  if (args[0]->kind != ExprKind::kSelect || args[0]->test_only) {
    return context.Fail(args[0], "invalid argument to has() macro");
  }
  return context.TestOnlySelect(args[0]);
}

Expr* All(MacroContext& context, Expr* target, Args args) {
  const std::string_view name = VariableOf(context, args[0], kNotSimple);
  return name.empty() ? context.Bool(false) : MakeAll(context, target, name, "", args[1]);
}

Expr* Exists(MacroContext& context, Expr* target, Args args) {
  const std::string_view name = VariableOf(context, args[0], kNotSimple);
  return name.empty() ? context.Bool(false) : MakeExists(context, target, name, "", args[1]);
}

Expr* ExistsOne(MacroContext& context, Expr* target, Args args) {
  const std::string_view name = VariableOf(context, args[0], kNotSimple);
  return name.empty() ? context.Bool(false) : MakeExistsOne(context, target, name, "", args[1]);
}

Expr* Map(MacroContext& context, Expr* target, Args args) {
  const std::string_view name = VariableOf(context, args[0], kNotIdentifier);
  if (name.empty()) return context.Bool(false);
  Expr* filter = args.size() == 3 ? args[1] : nullptr;
  return MakeList(context, target, name, "", filter, args.back());
}

Expr* Filter(MacroContext& context, Expr* target, Args args) {
  const std::string_view name = VariableOf(context, args[0], kNotIdentifier);
  if (name.empty()) return context.Bool(false);
  return MakeList(context, target, name, "", args[1], context.Ident(name));
}

}  // namespace portcullis::cel::macro

namespace portcullis::cel {

Expr* MakeAll(MacroContext& c, Expr* range, std::string_view name, std::string_view name2,
              Expr* predicate) {
  return c.Loop({.variable = name,
                 .variable2 = name2,
                 .accumulator = kAccumulator,
                 .range = range,
                 .init = c.Bool(true),
                 .condition = c.Call(op::kNotStrictlyFalse, {c.Accumulator()}),
                 .step = c.Call(op::kAnd, {c.Accumulator(), predicate}),
                 .result = c.Accumulator(),
                 .form = LoopForm::kAll,
                 .body = predicate});
}

Expr* MakeExists(MacroContext& c, Expr* range, std::string_view name, std::string_view name2,
                 Expr* predicate) {
  return c.Loop({.variable = name,
                 .variable2 = name2,
                 .accumulator = kAccumulator,
                 .range = range,
                 .init = c.Bool(false),
                 .condition = c.Call(op::kNotStrictlyFalse, {c.Call(op::kNot, {c.Accumulator()})}),
                 .step = c.Call(op::kOr, {c.Accumulator(), predicate}),
                 .result = c.Accumulator(),
                 .form = LoopForm::kExists,
                 .body = predicate});
}

Expr* MakeExistsOne(MacroContext& c, Expr* range, std::string_view name, std::string_view name2,
                    Expr* predicate) {
  Expr* more = c.Call(op::kAdd, {c.Accumulator(), c.Int(1)});
  return c.Loop({.variable = name,
                 .variable2 = name2,
                 .accumulator = kAccumulator,
                 .range = range,
                 .init = c.Int(0),
                 .condition = c.Bool(true),
                 .step = c.Call(op::kConditional, {predicate, more, c.Accumulator()}),
                 .result = c.Call(op::kEquals, {c.Accumulator(), c.Int(1)}),
                 .form = LoopForm::kExistsOne,
                 .body = predicate});
}

Expr* MakeList(MacroContext& c, Expr* range, std::string_view name, std::string_view name2,
               Expr* filter, Expr* transform) {
  Expr* step = c.Call(op::kAdd, {c.Accumulator(), c.List({transform})});
  if (filter) step = c.Call(op::kConditional, {filter, step, c.Accumulator()});
  return c.Loop({.variable = name,
                 .variable2 = name2,
                 .accumulator = kAccumulator,
                 .range = range,
                 .init = c.List({}),
                 .condition = c.Bool(true),
                 .step = step,
                 .result = c.Accumulator(),
                 .form = LoopForm::kList,
                 .body = transform,
                 .filter = filter});
}

}  // namespace portcullis::cel
