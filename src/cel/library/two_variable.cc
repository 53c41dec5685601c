// SPDX-License-Identifier: Apache-2.0

// Comprehensions with two variables: index and element of a list, key and value of a map.
#include <string>

#include "cel/library.h"
#include "cel/library/quantifiers.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

using Args = std::span<Expr* const>;

struct Names {
  std::string_view first;
  std::string_view second;
  bool ok() const { return !first.empty(); }
};

// The two variables; reports what is wrong with them.
Names NamesOf(MacroContext& context, Args args) {
  const Names names = {SimpleName(args[0]), SimpleName(args[1])};
  for (std::size_t i = 0; i < 2; ++i) {
    if (SimpleName(args[i]).empty()) {
      context.Fail(args[i], "argument must be a simple name");
      return {};
    }
  }
  if (names.first == names.second) {
    context.Fail(args[1], "duplicate variable name: " + std::string(names.first));
    return {};
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view name = SimpleName(args[i]);
    if (name == kAccumulator || name == "__result__") {
      context.Fail(args[i], "iteration variable overwrites accumulator variable");
      return {};
    }
  }
  return names;
}

Expr* All(MacroContext& context, Expr* target, Args args) {
  const Names names = NamesOf(context, args);
  if (!names.ok()) return context.Bool(false);
  return MakeAll(context, target, names.first, names.second, args[2]);
}
Expr* Exists(MacroContext& context, Expr* target, Args args) {
  const Names names = NamesOf(context, args);
  if (!names.ok()) return context.Bool(false);
  return MakeExists(context, target, names.first, names.second, args[2]);
}
Expr* ExistsOne(MacroContext& context, Expr* target, Args args) {
  const Names names = NamesOf(context, args);
  if (!names.ok()) return context.Bool(false);
  return MakeExistsOne(context, target, names.first, names.second, args[2]);
}
Expr* TransformList(MacroContext& context, Expr* target, Args args) {
  const Names names = NamesOf(context, args);
  if (!names.ok()) return context.Bool(false);
  Expr* filter = args.size() == 4 ? args[2] : nullptr;
  return MakeList(context, target, names.first, names.second, filter, args.back());
}

Expr* MakeMapLoop(MacroContext& context, Expr* target, Args args, LoopForm form) {
  const Names names = NamesOf(context, args);
  if (!names.ok()) return context.Bool(false);
  Expr* filter = args.size() == 4 ? args[2] : nullptr;
  Expr* body = args.back();
  Expr* step =
      form == LoopForm::kMap
          ? context.Call(op::kMapInsert, {context.Accumulator(), context.Ident(names.first), body})
          : context.Call(op::kMapInsert, {context.Accumulator(), body});
  if (filter) step = context.Call(op::kConditional, {filter, step, context.Accumulator()});
  return context.Loop({.variable = names.first,
                       .variable2 = names.second,
                       .accumulator = kAccumulator,
                       .range = target,
                       .init = context.Map(),
                       .condition = context.Bool(true),
                       .step = step,
                       .result = context.Accumulator(),
                       .form = form,
                       .body = body,
                       .filter = filter});
}
Expr* TransformMap(MacroContext& context, Expr* target, Args args) {
  return MakeMapLoop(context, target, args, LoopForm::kMap);
}
Expr* TransformMapEntry(MacroContext& context, Expr* target, Args args) {
  return MakeMapLoop(context, target, args, LoopForm::kMapEntry);
}

// The insertions are the evaluator's; the rows serve the checker.
constexpr Function kFunctions[] = {
    {.name = "cel.@mapInsert",
     .id = "@mapInsert_map_map",
     .signature = "(map(K, V), map(K, V)) -> map(K, V)"},
    {.name = "cel.@mapInsert",
     .id = "@mapInsert_map_key_value",
     .signature = "(map(K, V), K, V) -> map(K, V)"},
};

constexpr Macro kMacros[] = {
    {.name = "all",
     .arguments = 3,
     .expand = &All,
     .doc = "all() with index and element, or key and value.",
     .example = "[1, 2].all(i, v, v > i)"},
    {.name = "exists",
     .arguments = 3,
     .expand = &Exists,
     .doc = "exists() with two variables.",
     .example = "{'a': 1}.exists(k, v, k == 'a' && v == 1)"},
    {.name = "existsOne",
     .arguments = 3,
     .expand = &ExistsOne,
     .doc = "exists_one() with two variables.",
     .example = "[1, 2].existsOne(i, v, v == 2)"},
    {.name = "exists_one",
     .arguments = 3,
     .expand = &ExistsOne,
     .doc = "The same in the older spelling.",
     .example = "[1, 2].exists_one(i, v, v == 2)"},
    {.name = "transformList",
     .arguments = 3,
     .expand = &TransformList,
     .doc = "The list of transformed elements.",
     .example = "[3, 4].transformList(i, v, i * v) == [0, 4]"},
    {.name = "transformList",
     .arguments = 4,
     .expand = &TransformList,
     .doc = "The same for those for which the predicate is true.",
     .example = "[3, 4].transformList(i, v, i > 0, v) == [4]"},
    {.name = "transformMap",
     .arguments = 3,
     .expand = &TransformMap,
     .doc = "The map with its values transformed.",
     .example = "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}"},
    {.name = "transformMap",
     .arguments = 4,
     .expand = &TransformMap,
     .doc = "The same for those entries for which the predicate is true.",
     .example = "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}"},
    {.name = "transformMapEntry",
     .arguments = 3,
     .expand = &TransformMapEntry,
     .doc = "The map of all entries that the transformation gives.",
     .example = "{'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}"},
    {.name = "transformMapEntry",
     .arguments = 4,
     .expand = &TransformMapEntry,
     .doc = "The same for those entries for which the predicate is true.",
     .example = "{'a': 'b'}.transformMapEntry(k, v, false, {v: k}) == {}"},
};

}  // namespace

constinit const Library kTwoVariableLibrary = {
    .name = "comprehensions", .functions = kFunctions, .macros = kMacros};

}  // namespace portcullis::cel
