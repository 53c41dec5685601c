// SPDX-License-Identifier: Apache-2.0

// Optional values. Selection `.?` and `[?]` and the lazy `or` and `orValue` are the evaluator's.
#include <vector>

#include "cel/library.h"
#include "cel/program.h"
#include "cel/syntax/macros.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kNoValue{"optional.none() dereference"};

Value Of(EvalContext& context, std::span<const Value> args) {
  return MakeSome(context.arena(), args[0]);
}
Value OfNonZeroValue(EvalContext& context, std::span<const Value> args) {
  return IsZeroValue(args[0]) ? Value::None() : MakeSome(context.arena(), args[0]);
}
Value None(EvalContext&, std::span<const Value>) { return Value::None(); }
Value HasValue(EvalContext&, std::span<const Value> args) {
  return Value::Bool(args[0].content() != nullptr);
}
Value Content(EvalContext&, std::span<const Value> args) {
  return args[0].content() ? *args[0].content() : Value::Error(&kNoValue);
}
Value First(EvalContext& context, std::span<const Value> args) {
  if (args[0].size() == 0) return Value::None();
  return MakeSome(context.arena(), args[0].At(context.arena(), 0));
}
Value Last(EvalContext& context, std::span<const Value> args) {
  if (args[0].size() == 0) return Value::None();
  return MakeSome(context.arena(), args[0].At(context.arena(), args[0].size() - 1));
}
Value Unwrap(EvalContext& context, std::span<const Value> args) {
  std::vector<Value> contents;
  for (std::size_t i = 0; i < args[0].size(); ++i) {
    const Value element = args[0].At(context.arena(), i);
    if (element.kind() != Kind::kOptional) {
      return context.Error("value " + PlainText(element) + " is not optional");
    }
    if (element.content()) contents.push_back(*element.content());
  }
  return MakeList(context.arena(), contents);
}

// `target` is evaluated twice, as in cel-go: once for hasValue(), once for value().
Expr* MapContent(MacroContext& context, Expr* target, std::span<Expr* const> args, bool flat) {
  const std::string_view name = SimpleName(args[0]);
  if (name.empty()) {
    return context.Fail(args[0], flat ? "optFlatMap() variable name must be a simple identifier"
                                      : "optMap() variable name must be a simple identifier");
  }
  Expr* content = context.MemberCall("value", {context.Copy(target)});
  Expr* result = context.Bind(name, content, args[1]);
  if (!flat) result = context.Call("optional.of", {result});
  return context.Call(op::kConditional, {context.MemberCall("hasValue", {target}), result,
                                         context.Call("optional.none", {})});
}
Expr* OptMap(MacroContext& context, Expr* target, std::span<Expr* const> args) {
  return MapContent(context, target, args, false);
}
Expr* OptFlatMap(MacroContext& context, Expr* target, std::span<Expr* const> args) {
  return MapContent(context, target, args, true);
}

constexpr Function kFunctions[] = {
    {.name = "optional.of",
     .id = "optional_of",
     .signature = "(V) -> optional_type(V)",
     .impl = &Of,
     .doc = "An optional with a value.",
     .example = "optional.of(1).value() == 1"},
    {.name = "optional.ofNonZeroValue",
     .id = "optional_ofNonZeroValue",
     .signature = "(V) -> optional_type(V)",
     .impl = &OfNonZeroValue,
     .doc = "An optional with a value, unless it is zero, empty or null.",
     .example = "!optional.ofNonZeroValue('').hasValue()"},
    {.name = "optional.none",
     .id = "optional_none",
     .signature = "() -> optional_type(V)",
     .impl = &None,
     .doc = "The optional without a value.",
     .example = "!optional.none().hasValue()"},
    {.name = "value",
     .id = "optional_value",
     .style = Style::kMember,
     .signature = "(optional_type(V)) -> V",
     .impl = &Content,
     .doc = "The value; an error if there is none.",
     .example = "optional.of('a').value() == 'a'"},
    {.name = "hasValue",
     .id = "optional_hasValue",
     .style = Style::kMember,
     .signature = "(optional_type(V)) -> bool",
     .impl = &HasValue,
     .doc = "Is there a value?",
     .example = "optional.of(1).hasValue()"},
    {.name = "or",
     .id = "optional_or_optional",
     .style = Style::kMember,
     .signature = "(optional_type(V), optional_type(V)) -> optional_type(V)",
     .doc = "This optional, or the other one if it has no value.",
     .example = "optional.none().or(optional.of(1)).value() == 1"},
    {.name = "orValue",
     .id = "optional_orValue_value",
     .style = Style::kMember,
     .signature = "(optional_type(V), V) -> V",
     .doc = "The value, or another one if there is none.",
     .example = "optional.none().orValue(1) == 1"},
    {.name = "_?._",
     .id = "select_optional_field",
     .signature = "(dyn, string) -> optional_type(V)",
     .example = "{'a': 1}.?a.hasValue()"},
    {.name = "_[?_]",
     .id = "list_optindex_optional_int",
     .signature = "(list(V), int) -> optional_type(V)",
     .example = "[1][?0].hasValue()"},
    {.name = "_[?_]",
     .id = "optional_list_optindex_optional_int",
     .signature = "(optional_type(list(V)), int) -> optional_type(V)"},
    {.name = "_[?_]",
     .id = "map_optindex_optional_value",
     .signature = "(map(K, V), K) -> optional_type(V)"},
    {.name = "_[?_]",
     .id = "optional_map_optindex_optional_value",
     .signature = "(optional_type(map(K, V)), K) -> optional_type(V)"},
    {.name = "_[_]",
     .id = "optional_list_index_int",
     .signature = "(optional_type(list(V)), int) -> optional_type(V)"},
    {.name = "_[_]",
     .id = "optional_map_index_value",
     .signature = "(optional_type(map(K, V)), K) -> optional_type(V)"},
    {.name = "last",
     .id = "list_last",
     .style = Style::kMember,
     .signature = "(list(V)) -> optional_type(V)",
     .impl = &Last,
     .since = 2,
     .doc = "The last element, if there is one.",
     .example = "[1, 2].last().value() == 2"},
    {.name = "first",
     .id = "list_first",
     .style = Style::kMember,
     .signature = "(list(V)) -> optional_type(V)",
     .impl = &First,
     .since = 2,
     .doc = "The first element, if there is one.",
     .example = "[1, 2].first().value() == 1"},
    {.name = "optional.unwrap",
     .id = "optional_unwrap",
     .signature = "(list(optional_type(V))) -> list(V)",
     .impl = &Unwrap,
     .since = 2,
     .doc = "The values of those optionals that have one.",
     .example = "optional.unwrap([optional.of(1), optional.none()]) == [1]"},
    {.name = "unwrapOpt",
     .id = "optional_unwrapOpt",
     .style = Style::kMember,
     .signature = "(list(optional_type(V))) -> list(V)",
     .impl = &Unwrap,
     .since = 2,
     .doc = "The same, as a method.",
     .example = "[optional.of(1), optional.none()].unwrapOpt() == [1]"},
};

constexpr Macro kMacros[] = {
    {.name = "optMap",
     .arguments = 2,
     .expand = &OptMap,
     .doc = "The optional with its value transformed.",
     .example = "optional.of(1).optMap(x, x + 1).value() == 2"},
    {.name = "optFlatMap",
     .arguments = 2,
     .expand = &OptFlatMap,
     .since = 1,
     .doc = "The same with a transformation that gives an optional.",
     .example = "optional.of(1).optFlatMap(x, optional.of(x)).value() == 1"},
};

constexpr NamedType kTypes[] = {{"optional_type", &kOptionalType}};

}  // namespace

constinit const Library kOptionalLibrary = {
    .name = "optional", .functions = kFunctions, .macros = kMacros, .types = kTypes};

}  // namespace portcullis::cel
