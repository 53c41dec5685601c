// Equality and order across all kinds of values.
#include <cmath>
#include <limits>

#include "cel/value.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kNotOrdered{"NaN values cannot be ordered"};

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

// An element comparison that fails counts as "not unequal", as in cel-go.
bool EqualLists(json::Arena& arena, Value a, Value b) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  for (std::size_t i = 0; i < size; ++i) {
    if (Equal(arena, a.At(arena, i), b.At(arena, i)).is_false()) return false;
  }
  return true;
}

bool EqualMaps(json::Arena& arena, Value a, Value b) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const Value other = b.Find(arena, a.KeyAt(arena, i));
    if (other.is_unset() || Equal(arena, a.ValueAt(arena, i), other).is_false()) return false;
  }
  return true;
}

Value EqualOptionals(json::Arena& arena, Value a, Value b) {
  if (!a.content() || !b.content()) return Value::Bool(a.content() == b.content());
  return Equal(arena, *a.content(), *b.content());
}

}  // namespace

Value Equal(json::Arena& arena, Value a, Value b) {
  if (a.is_number() && b.is_number()) {
    if (IsNan(a) || IsNan(b)) return Value::Bool(false);
    return Value::Bool(OrderNumbers(a, b) == 0);
  }
  if (a.is_object()) {
    if (b.kind() == Kind::kNull) return Value::Bool(false);
    return a.object()->Equals(arena, b);
  }
  if (a.kind() != b.kind()) return Value::Bool(false);
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
      return Value::Bool(EqualLists(arena, a, b));
    case Kind::kMap:
      return Value::Bool(EqualMaps(arena, a, b));
    case Kind::kOptional:
      return EqualOptionals(arena, a, b);
    default:
      return NoSuchOverload();
  }
}

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
