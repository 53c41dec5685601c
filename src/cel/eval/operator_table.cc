// SPDX-License-Identifier: Apache-2.0

#include "cel/eval/operator_table.h"

#include <array>

#include "cel/eval/arithmetic.h"
#include "cel/syntax/operators.h"

namespace portcullis::cel {
namespace {

constexpr std::uint32_t Kinds() { return 0; }
template <typename... Rest>
constexpr std::uint32_t Kinds(Kind kind, Rest... rest) {
  return (1U << static_cast<unsigned>(kind)) | Kinds(rest...);
}

template <bool (*test)(std::int64_t)>
Value Ordered(json::Arena& arena, Value a, Value b) {
  const Value order = Compare(arena, a, b);
  return order.is_error() ? order : Value::Bool(test(order.int_value()));
}
bool Below(std::int64_t order) { return order < 0; }
bool NotAbove(std::int64_t order) { return order <= 0; }
bool Above(std::int64_t order) { return order > 0; }
bool NotBelow(std::int64_t order) { return order >= 0; }

Value NegateOne(json::Arena& arena, Value a, Value) { return Negate(arena, a); }

constexpr std::uint32_t kComparable =
    Kinds(Kind::kBool, Kind::kBytes, Kind::kDouble, Kind::kDuration, Kind::kInt, Kind::kString,
          Kind::kTimestamp, Kind::kUint);
constexpr std::uint32_t kNumbers = Kinds(Kind::kDouble, Kind::kInt, Kind::kUint);

constexpr std::array<Operator, 10> kOperators = {{
    {op::kAdd, &Add,
     kNumbers | Kinds(Kind::kBytes, Kind::kDuration, Kind::kList, Kind::kString, Kind::kTimestamp)},
    {op::kSubtract, &Subtract, kNumbers | Kinds(Kind::kDuration, Kind::kTimestamp)},
    {op::kMultiply, &Multiply, kNumbers},
    {op::kDivide, &Divide, kNumbers},
    {op::kModulo, &Modulo, Kinds(Kind::kInt, Kind::kUint)},
    {op::kNegate, &NegateOne, Kinds(Kind::kBool, Kind::kDouble, Kind::kDuration, Kind::kInt)},
    {op::kLess, &Ordered<&Below>, kComparable},
    {op::kLessEquals, &Ordered<&NotAbove>, kComparable},
    {op::kGreater, &Ordered<&Above>, kComparable},
    {op::kGreaterEquals, &Ordered<&NotBelow>, kComparable},
}};

}  // namespace

const Operator* FindOperator(std::string_view name) {
  for (const Operator& candidate : kOperators) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

}  // namespace portcullis::cel
