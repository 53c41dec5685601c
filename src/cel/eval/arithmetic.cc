// SPDX-License-Identifier: Apache-2.0

#include "cel/eval/arithmetic.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cel/time_text.h"

namespace portcullis::cel {
namespace {

constexpr ErrorNode kIntOverflow{"integer overflow"};
constexpr ErrorNode kUintOverflow{"unsigned integer overflow"};
constexpr ErrorNode kDivisionByZero{"division by zero"};
constexpr ErrorNode kModulusByZero{"modulus by zero"};
constexpr ErrorNode kTimestampOverflow{"timestamp overflow"};
constexpr ErrorNode kTooLong{"string too long"};
constexpr ErrorNode kListTooLong{"list too long"};

constexpr std::int64_t kMinInt = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNano = 1000000000;

Value IntOverflow() { return Value::Error(&kIntOverflow); }
Value UintOverflow() { return Value::Error(&kUintOverflow); }

bool Both(Value a, Value b, Kind kind) { return a.kind() == kind && b.kind() == kind; }

// A budget does not suffice to walk more elements, and doubling a list a few dozen times would make
// more than memory holds.
constexpr std::size_t kMaxElements = std::size_t{1} << 22;
constexpr int kMaxJoins = 64;  // how deep At() may recurse
// Of what an evaluation has in its arena, copies of lists included. Their cost says nothing of it, and a loop may make many.
constexpr std::size_t kMaxMemory = std::size_t{256} << 20;

// Two lists seen as one; concatenation copies nothing.
class JoinedList final : public List {
 public:
  JoinedList(Value first, Value second, int depth)
      : first_(first),
        second_(second),
        first_size_(first.size()),
        size_(first_size_ + second.size()),
        depth_(depth) {}
  std::size_t size() const override { return size_; }
  int JoinDepth() const override { return depth_; }
  Value At(json::Arena& arena, std::size_t index) const override {
    return index < first_size_ ? first_.At(arena, index) : second_.At(arena, index - first_size_);
  }
  Value first() const { return first_; }
  Value second() const { return second_; }

 private:
  Value first_;
  Value second_;
  std::size_t first_size_;
  std::size_t size_;
  int depth_;
};

int DepthOf(Value list) { return list.own_list() ? list.own_list()->JoinDepth() : 0; }

// Part by part: At() would walk through all joins for each element.
Value* CopyElements(json::Arena& arena, Value list, Value* to) {
  if (DepthOf(list) > 0) {
    const auto& joined = static_cast<const JoinedList&>(*list.own_list());
    return CopyElements(arena, joined.second(), CopyElements(arena, joined.first(), to));
  }
  for (std::size_t i = 0; i < list.size(); ++i) new (to++) Value(list.At(arena, i));
  return to;
}

Value JoinLists(json::Arena& arena, Value a, Value b) {
  if (a.own_list()) {
    const Value joined = a.own_list()->JoinedWith(arena, b);
    if (!joined.is_unset()) return joined;
  }
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  const std::size_t size = a.size() + b.size();
  if (size > kMaxElements) return Value::Error(&kListTooLong);
  const int depth = std::max(DepthOf(a), DepthOf(b)) + 1;
  if (depth <= kMaxJoins) return Value::FromList(New<JoinedList>(arena, a, b, depth));
  const std::size_t bytes = size * sizeof(Value);
  if (arena.bytes_used() + bytes > kMaxMemory) return Value::Error(&kListTooLong);
  auto* elements = static_cast<Value*>(arena.Allocate(bytes, alignof(Value)));
  CopyElements(arena, b, CopyElements(arena, a, elements));
  return MakeList(arena, std::span<const Value>(elements, size));
}

Value JoinTexts(json::Arena& arena, Value a, Value b) {
  const std::size_t size = a.text().size() + b.text().size();
  if (size > std::numeric_limits<std::uint32_t>::max()) return Value::Error(&kTooLong);
  char* data = static_cast<char*>(arena.Allocate(size + 1, 1));
  if (!a.text().empty()) std::memcpy(data, a.text().data(), a.text().size());
  if (!b.text().empty()) std::memcpy(data + a.text().size(), b.text().data(), b.text().size());
  const std::string_view text(data, size);
  return a.is_string() ? Value::String(text) : Value::Bytes(text);
}

Value Shift(Value timestamp, std::int64_t nanoseconds) {
  const std::int64_t nanos = static_cast<std::int64_t>(timestamp.nanos()) + nanoseconds % kNano;
  return CheckedTimestamp(timestamp.seconds() + nanoseconds / kNano, nanos,
                          timestamp.offset_minutes());
}

Value Between(Value a, Value b) {  // a - b
  std::int64_t seconds = a.seconds() - b.seconds();
  std::int64_t result = 0;
  const std::int64_t nanos =
      static_cast<std::int64_t>(a.nanos()) - static_cast<std::int64_t>(b.nanos());
  if (__builtin_mul_overflow(seconds, kNano, &result) ||
      __builtin_add_overflow(result, nanos, &result)) {
    return IntOverflow();
  }
  return Value::Duration(result);
}

}  // namespace

Value CheckedTimestamp(std::int64_t seconds, std::int64_t nanos, int offset_minutes) {
  seconds += nanos / kNano;
  nanos %= kNano;
  if (nanos < 0) {
    nanos += kNano;
    --seconds;
  }
  if (seconds < kMinTimestamp || seconds > kMaxTimestamp) {
    return Value::Error(&kTimestampOverflow);
  }
  return Value::Timestamp(seconds, static_cast<std::uint32_t>(nanos), offset_minutes);
}

Value Add(json::Arena& arena, Value a, Value b) {
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t result = 0;
      if (b.kind() != Kind::kInt) break;
      if (__builtin_add_overflow(a.int_value(), b.int_value(), &result)) return IntOverflow();
      return Value::Int(result);
    }
    case Kind::kUint: {
      std::uint64_t result = 0;
      if (b.kind() != Kind::kUint) break;
      if (__builtin_add_overflow(a.uint_value(), b.uint_value(), &result)) return UintOverflow();
      return Value::Uint(result);
    }
    case Kind::kDouble:
      if (b.kind() != Kind::kDouble) break;
      return Value::Double(a.double_value() + b.double_value());
    case Kind::kString:
    case Kind::kBytes:
      if (b.kind() != a.kind()) break;
      return JoinTexts(arena, a, b);
    case Kind::kList:
      if (b.kind() != Kind::kList) break;
      return JoinLists(arena, a, b);
    case Kind::kDuration: {
      std::int64_t result = 0;
      if (b.kind() == Kind::kTimestamp) return Shift(b, a.nanoseconds());
      if (b.kind() != Kind::kDuration) break;
      if (__builtin_add_overflow(a.nanoseconds(), b.nanoseconds(), &result)) return IntOverflow();
      return Value::Duration(result);
    }
    case Kind::kTimestamp:
      if (b.kind() != Kind::kDuration) break;
      return Shift(a, b.nanoseconds());
    default:
      break;
  }
  return NoSuchOverload();
}

Value Subtract(json::Arena&, Value a, Value b) {
  switch (a.kind()) {
    case Kind::kInt: {
      std::int64_t result = 0;
      if (b.kind() != Kind::kInt) break;
      if (__builtin_sub_overflow(a.int_value(), b.int_value(), &result)) return IntOverflow();
      return Value::Int(result);
    }
    case Kind::kUint: {
      std::uint64_t result = 0;
      if (b.kind() != Kind::kUint) break;
      if (__builtin_sub_overflow(a.uint_value(), b.uint_value(), &result)) return UintOverflow();
      return Value::Uint(result);
    }
    case Kind::kDouble:
      if (b.kind() != Kind::kDouble) break;
      return Value::Double(a.double_value() - b.double_value());
    case Kind::kDuration: {
      std::int64_t result = 0;
      if (b.kind() != Kind::kDuration) break;
      if (__builtin_sub_overflow(a.nanoseconds(), b.nanoseconds(), &result)) return IntOverflow();
      return Value::Duration(result);
    }
    case Kind::kTimestamp:
      if (b.kind() == Kind::kTimestamp) return Between(a, b);
      if (b.kind() != Kind::kDuration) break;
      if (b.nanoseconds() == kMinInt) return IntOverflow();
      return Shift(a, -b.nanoseconds());
    default:
      break;
  }
  return NoSuchOverload();
}

Value Multiply(json::Arena&, Value a, Value b) {
  if (Both(a, b, Kind::kInt)) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a.int_value(), b.int_value(), &result)) return IntOverflow();
    return Value::Int(result);
  }
  if (Both(a, b, Kind::kUint)) {
    std::uint64_t result = 0;
    if (__builtin_mul_overflow(a.uint_value(), b.uint_value(), &result)) return UintOverflow();
    return Value::Uint(result);
  }
  if (Both(a, b, Kind::kDouble)) return Value::Double(a.double_value() * b.double_value());
  return NoSuchOverload();
}

Value Divide(json::Arena&, Value a, Value b) {
  if (Both(a, b, Kind::kInt)) {
    if (b.int_value() == 0) return Value::Error(&kDivisionByZero);
    if (a.int_value() == kMinInt && b.int_value() == -1) return IntOverflow();
    return Value::Int(a.int_value() / b.int_value());
  }
  if (Both(a, b, Kind::kUint)) {
    if (b.uint_value() == 0) return Value::Error(&kDivisionByZero);
    return Value::Uint(a.uint_value() / b.uint_value());
  }
  if (Both(a, b, Kind::kDouble)) {
    static_assert(std::numeric_limits<double>::is_iec559);
    return Value::Double(a.double_value() / b.double_value());
  }
  return NoSuchOverload();
}

Value Modulo(json::Arena&, Value a, Value b) {
  if (Both(a, b, Kind::kInt)) {
    if (b.int_value() == 0) return Value::Error(&kModulusByZero);
    if (a.int_value() == kMinInt && b.int_value() == -1) return IntOverflow();
    return Value::Int(a.int_value() % b.int_value());
  }
  if (Both(a, b, Kind::kUint)) {
    if (b.uint_value() == 0) return Value::Error(&kModulusByZero);
    return Value::Uint(a.uint_value() % b.uint_value());
  }
  return NoSuchOverload();
}

Value Negate(json::Arena&, Value a) {
  switch (a.kind()) {
    case Kind::kInt:
      return a.int_value() == kMinInt ? IntOverflow() : Value::Int(-a.int_value());
    case Kind::kDouble:
      return Value::Double(-a.double_value());
    case Kind::kDuration:
      return a.nanoseconds() == kMinInt ? IntOverflow() : Value::Duration(-a.nanoseconds());
    default:
      return NoSuchOverload();
  }
}

Value Contains(json::Arena& arena, Value element, Value container) {
  if (container.is_map()) {
    const Value found = container.Find(arena, element);
    return found.is_error() ? found : Value::Bool(!found.is_unset());
  }
  if (!container.is_list()) return NoSuchOverload();
  if (const List* list = container.own_list()) {
    if (const Value held = list->Holds(arena, element); !held.is_unset()) return held;
  }
  const std::size_t size = container.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (Equal(arena, container.At(arena, i), element).is_true()) return Value::Bool(true);
  }
  return Value::Bool(false);
}

}  // namespace portcullis::cel
