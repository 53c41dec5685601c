// SPDX-License-Identifier: Apache-2.0

// Lists: isSorted, sum, min, max, indexOf, lastIndexOf.
#include "cel/eval/arithmetic.h"
#include "cel/program.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/costs.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Function;
using cel::Style;
using cel::Value;

// Whether values of this type have an order. Those of two types may have none between them, nor has NaN:
// as in kube-apiserver such neighbours are taken as being in order.
bool IsComparable(Value value) {
  switch (value.kind()) {
    case cel::Kind::kBool:
    case cel::Kind::kBytes:
    case cel::Kind::kDouble:
    case cel::Kind::kDuration:
    case cel::Kind::kInt:
    case cel::Kind::kString:
    case cel::Kind::kTimestamp:
    case cel::Kind::kUint:
      return true;
    default:
      return false;
  }
}

Value IsSorted(EvalContext& context, std::span<const Value> args) {
  const std::size_t size = args[0].size();
  Value previous;
  for (std::size_t i = 0; i < size; ++i) {
    const Value element = args[0].At(context.arena(), i);
    if (!IsComparable(element)) return cel::NoSuchOverload();
    if (i > 0) {
      const Value order = cel::Compare(context.arena(), previous, element);
      if (!order.is_error() && order.int_value() > 0) return Value::Bool(false);
    }
    previous = element;
  }
  return Value::Bool(true);
}

template <cel::Kind kind>
Value Zero() {
  if constexpr (kind == cel::Kind::kUint) return Value::Uint(0);
  if constexpr (kind == cel::Kind::kDouble) return Value::Double(0);
  if constexpr (kind == cel::Kind::kDuration) return Value::Duration(0);
  return Value::Int(0);
}

template <cel::Kind kind>
Value Sum(EvalContext& context, std::span<const Value> args) {
  const std::size_t size = args[0].size();
  Value sum = Zero<kind>();
  for (std::size_t i = 0; i < size && !sum.is_error(); ++i) {
    sum = cel::Add(context.arena(), sum, args[0].At(context.arena(), i));
  }
  return sum;
}

Value Extreme(EvalContext& context, Value list, int wanted, std::string_view name) {
  const std::size_t size = list.size();
  if (size == 0) return context.Error(std::string(name) + " called on empty list");
  Value best = list.At(context.arena(), 0);
  for (std::size_t i = 0; i < size; ++i) {
    const Value element = list.At(context.arena(), i);
    if (!IsComparable(element)) return cel::NoSuchOverload();
    const Value order = cel::Compare(context.arena(), element, best);
    if (!order.is_error() && order.int_value() == wanted) best = element;
  }
  return best;
}

Value Min(EvalContext& context, std::span<const Value> args) {
  return Extreme(context, args[0], -1, "min");
}
Value Max(EvalContext& context, std::span<const Value> args) {
  return Extreme(context, args[0], 1, "max");
}

Value IndexOf(EvalContext& context, std::span<const Value> args) {
  const std::size_t size = args[0].size();
  for (std::size_t i = 0; i < size; ++i) {
    if (cel::Equal(context.arena(), args[0].At(context.arena(), i), args[1]).is_true()) {
      return Value::Int(static_cast<std::int64_t>(i));
    }
  }
  return Value::Int(-1);
}

Value LastIndexOf(EvalContext& context, std::span<const Value> args) {
  for (std::size_t i = args[0].size(); i > 0; --i) {
    if (cel::Equal(context.arena(), args[0].At(context.arena(), i - 1), args[1]).is_true()) {
      return Value::Int(static_cast<std::int64_t>(i - 1));
    }
  }
  return Value::Int(-1);
}

constexpr Function Row(std::string_view name, std::string_view id, std::string_view signature,
                       cel::FunctionImpl impl, std::string_view doc, std::string_view example) {
  return {.name = name,
          .id = id,
          .style = Style::kMember,
          .signature = signature,
          .impl = impl,
          .cost = &VisitCost,
          .cost_scope = CostScope::kFunction,
          .estimate = &EstimateVisit,
          .doc = doc,
          .example = example};
}

constexpr std::string_view kSorted = "Are the elements in ascending order?";
constexpr std::string_view kSum = "The sum of the elements; zero of an empty list.";
constexpr std::string_view kMin = "The smallest element.";
constexpr std::string_view kMax = "The largest element.";

constexpr Function kFunctions[] = {
    Row("isSorted", "list_int_is_sorted_bool", "(list(int)) -> bool", &IsSorted, kSorted,
        "[1, 2, 2].isSorted()"),
    Row("isSorted", "list_uint_is_sorted_bool", "(list(uint)) -> bool", &IsSorted, kSorted,
        "[1u, 2u].isSorted()"),
    Row("isSorted", "list_double_is_sorted_bool", "(list(double)) -> bool", &IsSorted, kSorted,
        "[1.0, 2.0].isSorted()"),
    Row("isSorted", "list_bool_is_sorted_bool", "(list(bool)) -> bool", &IsSorted, kSorted,
        "[false, true].isSorted()"),
    Row("isSorted", "list_string_is_sorted_bool", "(list(string)) -> bool", &IsSorted, kSorted,
        "['a', 'b'].isSorted()"),
    Row("isSorted", "list_bytes_is_sorted_bool", "(list(bytes)) -> bool", &IsSorted, kSorted,
        "[b'a', b'b'].isSorted()"),
    Row("isSorted", "list_duration_is_sorted_bool", "(list(duration)) -> bool", &IsSorted, kSorted,
        "[duration('1s'), duration('2s')].isSorted()"),
    Row("isSorted", "list_timestamp_is_sorted_bool", "(list(timestamp)) -> bool", &IsSorted,
        kSorted, "[timestamp(0), timestamp(1)].isSorted()"),
    Row("sum", "list_int_sum_int", "(list(int)) -> int", &Sum<cel::Kind::kInt>, kSum,
        "[1, 2, 3].sum() == 6"),
    Row("sum", "list_uint_sum_uint", "(list(uint)) -> uint", &Sum<cel::Kind::kUint>, kSum,
        "[1u, 2u].sum() == 3u"),
    Row("sum", "list_double_sum_double", "(list(double)) -> double", &Sum<cel::Kind::kDouble>, kSum,
        "[0.5, 0.5].sum() == 1.0"),
    Row("sum", "list_duration_sum_duration", "(list(duration)) -> duration",
        &Sum<cel::Kind::kDuration>, kSum,
        "[duration('1s'), duration('1m')].sum() == duration('61s')"),
    Row("min", "list_int_min_int", "(list(int)) -> int", &Min, kMin, "[3, 1].min() == 1"),
    Row("min", "list_uint_min_uint", "(list(uint)) -> uint", &Min, kMin, "[3u, 1u].min() == 1u"),
    Row("min", "list_double_min_double", "(list(double)) -> double", &Min, kMin,
        "[3.0, 1.0].min() == 1.0"),
    Row("min", "list_bool_min_bool", "(list(bool)) -> bool", &Min, kMin, "![true, false].min()"),
    Row("min", "list_string_min_string", "(list(string)) -> string", &Min, kMin,
        "['b', 'a'].min() == 'a'"),
    Row("min", "list_bytes_min_bytes", "(list(bytes)) -> bytes", &Min, kMin,
        "[b'b', b'a'].min() == b'a'"),
    Row("min", "list_duration_min_duration", "(list(duration)) -> duration", &Min, kMin,
        "[duration('1s'), duration('1m')].min() == duration('1s')"),
    Row("min", "list_timestamp_min_timestamp", "(list(timestamp)) -> timestamp", &Min, kMin,
        "[timestamp(1), timestamp(0)].min() == timestamp(0)"),
    Row("max", "list_int_max_int", "(list(int)) -> int", &Max, kMax, "[3, 1].max() == 3"),
    Row("max", "list_uint_max_uint", "(list(uint)) -> uint", &Max, kMax, "[3u, 1u].max() == 3u"),
    Row("max", "list_double_max_double", "(list(double)) -> double", &Max, kMax,
        "[3.0, 1.0].max() == 3.0"),
    Row("max", "list_bool_max_bool", "(list(bool)) -> bool", &Max, kMax, "[true, false].max()"),
    Row("max", "list_string_max_string", "(list(string)) -> string", &Max, kMax,
        "['b', 'a'].max() == 'b'"),
    Row("max", "list_bytes_max_bytes", "(list(bytes)) -> bytes", &Max, kMax,
        "[b'b', b'a'].max() == b'b'"),
    Row("max", "list_duration_max_duration", "(list(duration)) -> duration", &Max, kMax,
        "[duration('1s'), duration('1m')].max() == duration('60s')"),
    Row("max", "list_timestamp_max_timestamp", "(list(timestamp)) -> timestamp", &Max, kMax,
        "[timestamp(1), timestamp(0)].max() == timestamp(1)"),
    Row("indexOf", "list_a_index_of_int", "(list(A), A) -> int", &IndexOf,
        "Where an element is first, or -1.", "[1, 2, 2].indexOf(2) == 1"),
    Row("lastIndexOf", "list_a_last_index_of_int", "(list(A), A) -> int", &LastIndexOf,
        "Where an element is last, or -1.", "[1, 2, 2].lastIndexOf(2) == 2"),
};

}  // namespace

constinit const cel::Library kListLibrary = {.name = "kubernetes.lists", .functions = kFunctions};

}  // namespace portcullis::kube_cel
