// SPDX-License-Identifier: Apache-2.0

// The list extension: slices, flattening, sorting, ranges.
#include <algorithm>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cel/library.h"
#include "cel/library/standard_macros.h"
#include "cel/program.h"

namespace portcullis::cel {
namespace {

constexpr std::uint64_t kCallAndList = 11;
constexpr int kMaxDepth = 250;
constexpr std::size_t kMaxElements = std::size_t{1} << 22;

bool IsTooLong(Value list) { return list.size() > kMaxElements; }

// REQUIRES: IsTooLong() has been asked.
std::vector<Value> Elements(json::Arena& arena, Value list) {
  std::vector<Value> elements;
  elements.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) elements.push_back(list.At(arena, i));
  return elements;
}

Value Slice(EvalContext& context, std::span<const Value> args) {
  const std::int64_t start = args[1].int_value();
  const std::int64_t end = args[2].int_value();
  const auto size = static_cast<std::int64_t>(args[0].size());
  const std::string call =
      "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return context.Error(call + "negative indexes not supported");
  if (start > end) {
    return context.Error(call + "start index must be less than or equal to end index");
  }
  if (size < end) return context.Error(call + "list is length " + std::to_string(size));
  if (end - start > static_cast<std::int64_t>(kMaxElements)) return context.Error("list too long");
  std::vector<Value> elements;
  for (std::int64_t i = start; i < end; ++i) {
    elements.push_back(args[0].At(context.arena(), static_cast<std::size_t>(i)));
  }
  return MakeList(context.arena(), elements);
}

// Stops beyond kMaxElements: lists that share parts can have more than memory holds.
void FlattenInto(json::Arena& arena, Value list, std::int64_t depth, std::vector<Value>& out) {
  for (std::size_t i = 0; i < list.size() && out.size() <= kMaxElements; ++i) {
    const Value element = list.At(arena, i);
    if (element.is_list() && depth > 0) {
      FlattenInto(arena, element, depth - 1, out);
    } else {
      out.push_back(element);
    }
  }
}

Value Flatten(EvalContext& context, std::span<const Value> args) {
  const std::int64_t depth = args.size() > 1 ? args[1].int_value() : 1;
  if (depth < 0) return context.Error("level must be non-negative");
  std::vector<Value> out;
  FlattenInto(context.arena(), args[0], std::min<std::int64_t>(depth, kMaxDepth), out);
  if (out.size() > kMaxElements) return context.Error("list too long");
  return MakeList(context.arena(), out);
}

bool IsComparable(Value value) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

// The first list in the order of the keys in the second, equal ones as they stand.
Value SortByKeys(EvalContext& context, std::span<const Value> args) {
  json::Arena& arena = context.arena();
  if (IsTooLong(args[0])) return context.Error("list too long");
  const std::vector<Value> elements = Elements(arena, args[0]);
  const std::vector<Value> keys = args.size() > 1 ? Elements(arena, args[1]) : elements;
  if (elements.size() != keys.size()) {
    return context.Error(
        "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but "
        "got " +
        std::to_string(elements.size()) + " and " + std::to_string(keys.size()) +
        " elements respectively");
  }
  if (keys.empty()) return args[0];
  if (!IsComparable(keys[0])) return context.Error("list elements must be comparable");
  for (const Value key : keys) {
    if (key.kind() != keys[0].kind()) {
      return context.Error("list elements must have the same type");
    }
  }
  std::vector<std::size_t> order(keys.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // NaN is not ordered; a merge sort does not mind.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Value result = Compare(arena, keys[a], keys[b]);
    return !result.is_error() && result.int_value() < 0;
  });
  std::vector<Value> sorted;
  sorted.reserve(order.size());
  for (const std::size_t index : order) sorted.push_back(elements[index]);
  return MakeList(arena, sorted);
}

// The integers from 0, without storing them.
class RangeList final : public List {
 public:
  explicit RangeList(std::size_t size) : size_(size) {}
  std::size_t size() const override { return size_; }
  Value At(json::Arena&, std::size_t index) const override {
    return Value::Int(static_cast<std::int64_t>(index));
  }

 private:
  std::size_t size_;
};

Value MakeRange(EvalContext& context, std::span<const Value> args) {
  const std::int64_t size = std::max<std::int64_t>(args[0].int_value(), 0);
  return Value::FromList(New<RangeList>(context.arena(), static_cast<std::size_t>(size)));
}

Value ReverseList(EvalContext& context, std::span<const Value> args) {
  if (IsTooLong(args[0])) return context.Error("list too long");
  std::vector<Value> elements = Elements(context.arena(), args[0]);
  std::reverse(elements.begin(), elements.end());
  return MakeList(context.arena(), elements);
}

Value Distinct(EvalContext& context, std::span<const Value> args) {
  json::Arena& arena = context.arena();
  std::vector<Value> unique;
  if (IsTooLong(args[0])) return context.Error("list too long");
  for (std::size_t i = 0; i < args[0].size(); ++i) {
    const Value element = args[0].At(arena, i);
    const bool seen = std::any_of(unique.begin(), unique.end(), [&](Value other) {
      return Equal(arena, element, other).is_true();
    });
    if (!seen) unique.push_back(element);
  }
  return MakeList(arena, unique);
}

// --- Costs ---

std::uint64_t ResultCost(std::span<const Value>, Value result) {
  return kCallAndList + CostSize(result);
}

std::uint64_t FlattenCost(std::span<const Value> args, Value) {
  const bool given = args.size() > 1 && args[1].kind() == Kind::kInt;
  const double depth = given ? static_cast<double>(args[1].int_value()) : 1.0;
  const double cost = depth * static_cast<double>(CostSize(args[0]));
  return kCallAndList + (cost > 0 ? static_cast<std::uint64_t>(cost) : 0);
}

// Every element compared with every other one.
std::uint64_t CompareAllCost(Value list) {
  if (!list.is_list()) return kCallAndList + 2;
  const std::uint64_t size = list.size();
  if (size == 0) return kCallAndList;
  json::Arena arena;
  const Value first = list.At(arena, 0);
  const bool text = first.is_string() || first.kind() == Kind::kBytes;
  const double cost = static_cast<double>(size * size) * (text ? 2.1 : 2.0);
  return kCallAndList + static_cast<std::uint64_t>(cost);
}
std::uint64_t SortCost(std::span<const Value> args, Value) { return CompareAllCost(args.back()); }

// `factor` times the size, and the list that is made.
CallEstimate Allocating(double factor, Range size) {
  return {ScaleByFactor(size, factor) + Range{kCallAndList, kCallAndList}, size};
}

// What cel-go panics with where it counts the cost of a call whose argument, an error for example, is
// not what it takes it for.
std::string NoList(Value value) {
  if (value.is_list()) return {};
  const bool adds = value.is_number() || value.is_string() || value.kind() == Kind::kBytes ||
                    value.kind() == Kind::kTimestamp || value.kind() == Kind::kDuration;
  return base::StrCat("interface conversion: ", GoTypeName(value),
                      " is not traits.Lister: missing method ", adds ? "Contains" : "Add");
}
std::string NoListToSort(std::span<const Value> args) { return NoList(args.back()); }
std::string NoDepth(std::span<const Value> args) {
  if (args[1].kind() == Kind::kInt) return {};
  return base::StrCat("interface conversion: ref.Val is ", GoTypeName(args[1]), ", not types.Int");
}

// The number, zero for a negative one.
std::uint64_t Whole(const EstimatedArgument& argument, std::uint64_t fallback) {
  const auto number = argument.int_literal();
  return number ? static_cast<std::uint64_t>(std::max<std::int64_t>(*number, 0)) : fallback;
}

std::optional<CallEstimate> EstimateSlice(std::span<const EstimatedArgument* const> args) {
  // Where the end is before the start, this wraps around, as it does in Go.
  const std::uint64_t size = Whole(*args[2], args[0]->size().max) - Whole(*args[1], 0);
  return Allocating(1, {size, size});
}
std::optional<CallEstimate> EstimateFlatten(std::span<const EstimatedArgument* const> args) {
  const std::uint64_t depth = args.size() > 1 ? Whole(*args[1], kUnbounded) : 1;
  return Allocating(static_cast<double>(depth), args[0]->size());
}
std::optional<CallEstimate> EstimateSameSize(std::span<const EstimatedArgument* const> args) {
  return Allocating(1, args[0]->size());
}
std::optional<CallEstimate> EstimateRange(std::span<const EstimatedArgument* const> args) {
  const std::uint64_t size = Whole(*args[0], kUnbounded);
  return Allocating(1, {size, size});
}
std::optional<CallEstimate> EstimateCompareAll(std::span<const EstimatedArgument* const> args) {
  const Range size = args.back()->size();
  return Allocating(2.0, size * size);
}
std::optional<CallEstimate> EstimateCompareTexts(std::span<const EstimatedArgument* const> args) {
  const Range size = args.back()->size();
  return Allocating(2.1, size * size);
}

Expr* SortByMacro(MacroContext& context, Expr* target, std::span<Expr* const> args) {
  switch (target->kind) {
    case ExprKind::kList:
    case ExprKind::kSelect:
    case ExprKind::kIdent:
    case ExprKind::kComprehension:
    case ExprKind::kCall:
      break;
    default:
      return context.Fail(target,
                          "sortBy can only be applied to a list, identifier, comprehension, call "
                          "or select expression");
  }
  constexpr std::string_view kInput = "@__sortBy_input__";
  Expr* keys = macro::Map(context, context.Ident(kInput), args);
  return context.Bind(kInput, target,
                      context.MemberCall("@sortByAssociatedKeys", {context.Ident(kInput), keys}));
}

#define PC_SORT_ROWS(type, id_name, estimator)                                              \
  {.name = "sort",                                                                          \
   .id = "list_" id_name "_sort",                                                           \
   .style = Style::kMember,                                                                 \
   .signature = "(list(" type ")) -> list(" type ")",                                       \
   .impl = &SortByKeys,                                                                     \
   .cost = &SortCost,                                                                       \
   .panic = &NoListToSort,                                                                  \
   .estimate = &estimator,                                                                  \
   .guarded = false,                                                                        \
   .since = 2,                                                                              \
   .doc = "The elements in ascending order.",                                               \
   .example = "[2, 1].sort() == [1, 2]"},                                                   \
  {                                                                                         \
    .name = "@sortByAssociatedKeys", .id = "list_" id_name "_sortByAssociatedKeys",         \
    .style = Style::kMember, .signature = "(list(T), list(" type ")) -> list(T)",           \
    .impl = &SortByKeys, .cost = &SortCost, .panic = &NoListToSort, .estimate = &estimator, \
    .guarded = false, .since = 2                                                            \
  }

constexpr Function kFunctions[] = {
    {.name = "slice",
     .id = "list_slice",
     .style = Style::kMember,
     .signature = "(list(T), int, int) -> list(T)",
     .impl = &Slice,
     .cost = &ResultCost,
     .estimate = &EstimateSlice,
     .doc = "The elements from one index up to, not including, another.",
     .example = "[1, 2, 3].slice(1, 3) == [2, 3]"},
    {.name = "flatten",
     .id = "list_flatten",
     .style = Style::kMember,
     .signature = "(list(list(T))) -> list(T)",
     .impl = &Flatten,
     .cost = &FlattenCost,
     .estimate = &EstimateFlatten,
     .guarded = false,
     .since = 1,
     .doc = "The elements of the inner lists in one list.",
     .example = "[[1], [2, 3]].flatten() == [1, 2, 3]"},
    {.name = "flatten",
     .id = "list_flatten_int",
     .style = Style::kMember,
     .signature = "(list(dyn), int) -> list(dyn)",
     .impl = &Flatten,
     .cost = &FlattenCost,
     .panic = &NoDepth,
     .estimate = &EstimateFlatten,
     .guarded = false,
     .since = 1,
     .doc = "The same, so many levels deep.",
     .example = "[[[1]], [[2]]].flatten(2) == [1, 2]"},
    PC_SORT_ROWS("int", "int", EstimateCompareAll),
    PC_SORT_ROWS("uint", "uint", EstimateCompareAll),
    PC_SORT_ROWS("double", "double", EstimateCompareAll),
    PC_SORT_ROWS("bool", "bool", EstimateCompareAll),
    PC_SORT_ROWS("duration", "google.protobuf.Duration", EstimateCompareAll),
    PC_SORT_ROWS("timestamp", "google.protobuf.Timestamp", EstimateCompareAll),
    PC_SORT_ROWS("string", "string", EstimateCompareTexts),
    PC_SORT_ROWS("bytes", "bytes", EstimateCompareTexts),
    {.name = "lists.range",
     .id = "lists_range",
     .signature = "(int) -> list(int)",
     .impl = &MakeRange,
     .cost = &ResultCost,
     .estimate = &EstimateRange,
     .since = 2,
     .doc = "The integers from 0 up to, not including, a number.",
     .example = "lists.range(3) == [0, 1, 2]"},
    {.name = "reverse",
     .id = "list_reverse",
     .style = Style::kMember,
     .signature = "(list(T)) -> list(T)",
     .impl = &ReverseList,
     .cost = &ResultCost,
     .estimate = &EstimateSameSize,
     .since = 2,
     .doc = "The elements in reverse order.",
     .example = "[1, 2].reverse() == [2, 1]"},
    {.name = "distinct",
     .id = "list_distinct",
     .style = Style::kMember,
     .signature = "(list(T)) -> list(T)",
     .impl = &Distinct,
     .cost = &SortCost,
     .panic = &NoListToSort,
     .estimate = &EstimateCompareAll,
     .since = 2,
     .doc = "Each element once, where it stands first.",
     .example = "[1, 2, 1].distinct() == [1, 2]"},
};

#undef PC_SORT_ROWS

constexpr Macro kMacros[] = {
    {.name = "sortBy",
     .arguments = 2,
     .expand = &SortByMacro,
     .since = 2,
     .doc = "The elements in the order of their keys.",
     .example = "[1, 2].sortBy(x, -x) == [2, 1]"},
};

}  // namespace

constinit const Library kListsLibrary = {
    .name = "lists", .functions = kFunctions, .macros = kMacros};

}  // namespace portcullis::cel
