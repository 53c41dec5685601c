// SPDX-License-Identifier: Apache-2.0

// Equality and order across all kinds of values.
#include <cmath>
#include <limits>

#include "cel/value.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kNotOrdered{"NaN values cannot be ordered"};
constexpr ErrorNode kTooLarge{"values too large to compare"};

template <typename T>
int Order(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Integers beyond 2^53 are compared as doubles, like cel-go does.
int OrderIntDouble(std::int64_t a, double b) {
  if (b < -9223372036854775808.0) return 1;
  if (b > 9223372036854775808.0) return -1;
  return Order(static_cast<double>(a), b);
}

int OrderUintDouble(std::uint64_t a, double b) {
  if (b < 0) return 1;
  if (b > 18446744073709551616.0) return -1;
  return Order(static_cast<double>(a), b);
}

int OrderIntUint(std::int64_t a, std::uint64_t b) {
  if (a < 0) return -1;
  return Order(static_cast<std::uint64_t>(a), b);
}

// REQUIRES: both are numbers and none is NaN.
int OrderNumbers(Value a, Value b) {
  switch (a.kind()) {
    case Kind::kInt:
      if (b.kind() == Kind::kInt) return Order(a.int_value(), b.int_value());
      if (b.kind() == Kind::kUint) return OrderIntUint(a.int_value(), b.uint_value());
      return OrderIntDouble(a.int_value(), b.double_value());
    case Kind::kUint:
      if (b.kind() == Kind::kUint) return Order(a.uint_value(), b.uint_value());
      if (b.kind() == Kind::kInt) return -OrderIntUint(b.int_value(), a.uint_value());
      return OrderUintDouble(a.uint_value(), b.double_value());
    default:
      if (b.kind() == Kind::kDouble) return Order(a.double_value(), b.double_value());
      if (b.kind() == Kind::kInt) return -OrderIntDouble(b.int_value(), a.double_value());
      return -OrderUintDouble(b.uint_value(), a.double_value());
  }
}

bool IsNan(Value v) { return v.kind() == Kind::kDouble && std::isnan(v.double_value()); }

// Compares two values, parts included. Values can share parts so that a small one has very many of
// them; `work` bounds how many are looked at.
class Comparison {
 public:
  explicit Comparison(json::Arena& arena) : arena_(arena) {}

  Value Run(Value a, Value b) {
    const Value result = Parts(a, b);
    return work_ > kMaxWork ? Value::Error(&kTooLarge) : result;
  }

 private:
  static constexpr std::uint64_t kMaxWork = 10'000'000;
  static constexpr int kMaxDepth = 2000;

  Value Parts(Value a, Value b) {
    if (++work_ > kMaxWork) return Value::Error(&kTooLarge);
    if (a.is_number() && b.is_number()) {
      if (IsNan(a) || IsNan(b)) return Value::Bool(false);
      return Value::Bool(OrderNumbers(a, b) == 0);
    }
    if (a.is_object()) {
      if (b.kind() == Kind::kNull) return Value::Bool(false);
      return a.object()->Equals(arena_, b);
    }
    if (a.kind() != b.kind()) return OfTwoKinds(a, b);
    switch (a.kind()) {
      case Kind::kNull:
        return Value::Bool(true);
      case Kind::kBool:
        return Value::Bool(a.bool_value() == b.bool_value());
      case Kind::kString:
      case Kind::kBytes:
        return Value::Bool(a.text() == b.text());
      case Kind::kDuration:
        return Value::Bool(a.nanoseconds() == b.nanoseconds());
      case Kind::kTimestamp:
        return Value::Bool(a.seconds() == b.seconds() && a.nanos() == b.nanos());
      case Kind::kType:
        return Value::Bool(a.type_value()->name == b.type_value()->name);
      case Kind::kList:
      case Kind::kMap:
      case Kind::kOptional:
        return Deeper(a, b);
      default:
        return NoSuchOverload();
    }
  }

  Value OfTwoKinds(Value a, Value b) {
    if (b.kind() == Kind::kNull) return Value::Bool(false);
    Value result;
    if (const List* list = a.is_list() ? a.own_list() : nullptr) result = list->EqualTo(arena_, b);
    if (const Map* map = a.is_map() ? a.own_map() : nullptr) result = map->EqualTo(arena_, b);
    return result.is_unset() ? Value::Bool(false) : result;
  }

  Value Deeper(Value a, Value b) {
    if (depth_ > kMaxDepth) work_ = kMaxWork;
    ++depth_;
    Value result;
    if (a.kind() == Kind::kOptional) {
      const bool both = a.content() && b.content();
      result = both ? Parts(*a.content(), *b.content()) : Value::Bool(a.content() == b.content());
    } else {
      if (const List* list = a.is_list() ? a.own_list() : nullptr)
        result = list->EqualTo(arena_, b);
      if (const Map* map = a.is_map() ? a.own_map() : nullptr) result = map->EqualTo(arena_, b);
      if (result.is_unset()) result = Value::Bool(a.is_list() ? Lists(a, b) : Maps(a, b));
    }
    --depth_;
    return result;
  }

  // An element comparison that fails counts as "not unequal", as in cel-go.
  bool Lists(Value a, Value b) {
    const std::size_t size = a.size();
    if (size != b.size()) return false;
    for (std::size_t i = 0; i < size && work_ <= kMaxWork; ++i) {
      if (Parts(a.At(arena_, i), b.At(arena_, i)).is_false()) return false;
    }
    return true;
  }

  bool Maps(Value a, Value b) {
    const std::size_t size = a.size();
    if (size != b.size()) return false;
    for (std::size_t i = 0; i < size && work_ <= kMaxWork; ++i) {
      const Value other = b.Find(arena_, a.KeyAt(arena_, i));
      if (other.is_unset() || Parts(a.ValueAt(arena_, i), other).is_false()) return false;
    }
    return true;
  }

  json::Arena& arena_;
  std::uint64_t work_ = 0;
  int depth_ = 0;
};

}  // namespace

Value Equal(json::Arena& arena, Value a, Value b) { return Comparison(arena).Run(a, b); }

Value Compare(json::Arena&, Value a, Value b) {
  if (a.is_number() && b.is_number()) {
    if (IsNan(a) || IsNan(b)) return Value::Error(&kNotOrdered);
    return Value::Int(OrderNumbers(a, b));
  }
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case Kind::kBool:
      return Value::Int(Order(a.bool_value(), b.bool_value()));
    case Kind::kString:
    case Kind::kBytes:
      return Value::Int(Order(a.text().compare(b.text()), 0));
    case Kind::kDuration:
      return Value::Int(Order(a.nanoseconds(), b.nanoseconds()));
    case Kind::kTimestamp:
      if (a.seconds() != b.seconds()) return Value::Int(Order(a.seconds(), b.seconds()));
      return Value::Int(Order(a.nanos(), b.nanos()));
    default:
      return NoSuchOverload();
  }
}

}  // namespace portcullis::cel
