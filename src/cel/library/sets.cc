// SPDX-License-Identifier: Apache-2.0

// Lists as sets: every element of one in another, by equality across numbers.
#include "cel/eval/arithmetic.h"
#include "cel/library.h"
#include "cel/program.h"

namespace portcullis::cel {
namespace {

bool ContainsAll(json::Arena& arena, Value list, Value part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (!Contains(arena, part.At(arena, i), list).is_true()) return false;
  }
  return true;
}

Value SetsContains(EvalContext& context, std::span<const Value> args) {
  return Value::Bool(ContainsAll(context.arena(), args[0], args[1]));
}

Value SetsEquivalent(EvalContext& context, std::span<const Value> args) {
  return Value::Bool(ContainsAll(context.arena(), args[0], args[1]) &&
                     ContainsAll(context.arena(), args[1], args[0]));
}

Value SetsIntersects(EvalContext& context, std::span<const Value> args) {
  json::Arena& arena = context.arena();
  for (std::size_t i = 0; i < args[0].size(); ++i) {
    if (Contains(arena, args[0].At(arena, i), args[1]).is_true()) return Value::Bool(true);
  }
  return Value::Bool(false);
}

template <std::uint64_t times>
std::uint64_t PairsCost(std::span<const Value> args, Value) {
  return 1 + times * CostSize(args[0]) * CostSize(args[1]);
}

template <std::uint64_t times>
std::optional<CallEstimate> EstimatePairs(std::span<const EstimatedArgument* const> args) {
  const Range pairs = args[0]->size() * args[1]->size();
  return CallEstimate{pairs * Range{times, times} + Range{1, 1}, std::nullopt};
}

constexpr Function kFunctions[] = {
    {.name = "sets.contains",
     .id = "list_sets_contains_list",
     .signature = "(list(T), list(T)) -> bool",
     .impl = &SetsContains,
     .cost = &PairsCost<1>,
     .estimate = &EstimatePairs<1>,
     .doc = "Is every element of the second list in the first?",
     .example = "sets.contains([1, 2], [2])"},
    {.name = "sets.equivalent",
     .id = "list_sets_equivalent_list",
     .signature = "(list(T), list(T)) -> bool",
     .impl = &SetsEquivalent,
     .cost = &PairsCost<2>,
     .estimate = &EstimatePairs<2>,
     .doc = "Have both lists the same elements, whatever their order and number?",
     .example = "sets.equivalent([1, 1, 2], [2, 1])"},
    {.name = "sets.intersects",
     .id = "list_sets_intersects_list",
     .signature = "(list(T), list(T)) -> bool",
     .impl = &SetsIntersects,
     .cost = &PairsCost<1>,
     .estimate = &EstimatePairs<1>,
     .doc = "Is some element in both lists?",
     .example = "sets.intersects([1], [1, 2])"},
};

}  // namespace

constinit const Library kSetsLibrary = {.name = "sets", .functions = kFunctions};

}  // namespace portcullis::cel
