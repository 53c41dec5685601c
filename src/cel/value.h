// SPDX-License-Identifier: Apache-2.0

// The values of CEL at run time.
//
// A Value is a 16-byte view, copied freely. Scalars are inside; strings, bytes, lists, maps,
// objects and errors point into an arena, the program's constants, or the JSON document that was
// bound, all of which must outlive the value. JSON is never copied: a list or map made from JSON
// points at the json::Value and wraps elements when they are asked for.
//
// An *error* is a value too (kError): functions return it, `&&` and `||` can absorb it. kUnset is
// no value at all (an unbound variable, an absent key); it never reaches a function.
//
// Own kinds of values derive from List, Map or Object and are made with New<T>(arena, …).
// Threads: immutable; those that make parts lazily use only the arena that is passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cel/types.h"
#include "json/value.h"

namespace portcullis::cel {

enum class Kind : std::uint8_t {
  kUnset,
  kError,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kType,
  kOptional,
  kObject,  // structs and opaque values: see class Object
};

class Value;

// Why an error value is one. Everything but kOrdinary ends the evaluation and cannot be absorbed.
// kInternal: cel-go panics, and answers with what it has recovered from.
enum class ErrorCode : std::uint8_t { kOrdinary, kCostLimit, kInterrupted, kInternal };

struct ErrorNode {
  std::string_view text;
  ErrorCode code = ErrorCode::kOrdinary;
};

// A list other than a JSON array. Elements may be made on demand, in `arena`.
class List {
 public:
  virtual std::size_t size() const = 0;
  // REQUIRES: index < size().
  virtual Value At(json::Arena& arena, std::size_t index) const = 0;
  // How many concatenations At() goes through; see Add() in eval/arithmetic.h.
  virtual int JoinDepth() const { return 0; }
  // `this == other` (which is not null), `this + other` (a list) and `element in this` where they are
  // not what the elements say: lists of custom resources. Unset otherwise.
  virtual Value EqualTo(json::Arena& arena, Value other) const;
  virtual Value JoinedWith(json::Arena& arena, Value other) const;
  virtual Value Holds(json::Arena& arena, Value element) const;

 protected:
  ~List() = default;
};

// A map other than a JSON object. Entries have a fixed order, so that iterating is an index.
class Map {
 public:
  virtual std::size_t size() const = 0;
  // The value of a key (numbers match across int, uint and double), or an unset Value; an error where
  // a key cannot be of this type.
  virtual Value Find(json::Arena& arena, Value key) const = 0;
  // REQUIRES: index < size().
  virtual Value KeyAt(json::Arena& arena, std::size_t index) const = 0;
  virtual Value ValueAt(json::Arena& arena, std::size_t index) const = 0;
  // `this == other` (which is not null) where it is not what the entries say; unset otherwise.
  virtual Value EqualTo(json::Arena& arena, Value other) const;

 protected:
  ~Map() = default;
};

// A value of an opaque type (kubernetes.Quantity) or of a struct type (typed objects, `variables`,
// Object{} of mutations).
class Object {
 public:
  // What `type(x)` yields; its name decides whether an overload accepts the value.
  virtual const Type* type() const = 0;
  // `this == other`: a bool or an error. `other` may be of any kind.
  virtual Value Equals(json::Arena& arena, Value other) const = 0;

  // Structs: `x.name` (unset if the struct does not have it or it is absent) and `has(x.name)`.
  virtual Value Field(json::Arena& arena, std::string_view name) const;
  virtual bool HasField(std::string_view name) const;
  virtual bool is_struct() const { return false; }
  // A struct's fields as a JSON object, for ToJson(). Null if there is no such form.
  virtual json::Value Json(json::Arena& arena) const;

  // Length as the cost model sees it; values without a length count 1.
  virtual std::uint64_t CostSize() const { return 1; }
  // `string(x)`, or an unset Value if there is no such conversion.
  virtual Value ToStringValue(json::Arena& arena) const;
  // Is it empty, as optional.ofNonZeroValue() asks?
  virtual bool IsZero() const { return false; }
  // The type in Go, as error texts print it: `cel.IP`.
  virtual std::string_view GoType() const { return type()->name; }
  // As a key of a map in Go: those of one type with the same text are the same key. "": it is the same as
  // itself only, as what Go holds by a pointer.
  virtual std::string KeyText() const { return {}; }
  // Whether it can be such a key at all.
  virtual bool IsHashable() const { return true; }

 protected:
  ~Object() = default;
};

class Value {
 public:
  constexpr Value() = default;  // unset

  static constexpr Value Null() { return Value(Kind::kNull); }
  static constexpr Value Bool(bool value) {
    Value v(Kind::kBool);
    v.int_ = value ? 1 : 0;
    return v;
  }
  static constexpr Value Int(std::int64_t value) {
    Value v(Kind::kInt);
    v.int_ = value;
    return v;
  }
  static constexpr Value Uint(std::uint64_t value) {
    Value v(Kind::kUint);
    v.uint_ = value;
    return v;
  }
  static constexpr Value Double(double value) {
    Value v(Kind::kDouble);
    v.double_ = value;
    return v;
  }
  // Views: the bytes must outlive the value. Sizes are limited to 4 GiB.
  static constexpr Value String(std::string_view text) { return Text(Kind::kString, text); }
  static constexpr Value Bytes(std::string_view bytes) { return Text(Kind::kBytes, bytes); }
  // nanos in [0, 1e9). A timestamp remembers the offset it was written with, in minutes, for
  // string(); nothing else sees it. Makers do not check ranges.
  static constexpr Value Timestamp(std::int64_t seconds, std::uint32_t nanos, int offset = 0) {
    Value v(Kind::kTimestamp);
    v.offset_ = static_cast<std::int16_t>(offset);
    v.int_ = seconds;
    v.aux_ = nanos;
    return v;
  }
  static constexpr Value Duration(std::int64_t nanoseconds) {
    Value v(Kind::kDuration);
    v.int_ = nanoseconds;
    return v;
  }
  static constexpr Value OfType(const Type* type) {
    Value v(Kind::kType);
    v.type_ = type;
    return v;
  }
  static constexpr Value None() { return Some(nullptr); }
  static constexpr Value Some(const Value* content) {  // content lives in an arena
    Value v(Kind::kOptional);
    v.content_ = content;
    return v;
  }
  static constexpr Value FromList(const List* list) {
    Value v(Kind::kList);
    v.list_ = list;
    return v;
  }
  static constexpr Value FromMap(const Map* map) {
    Value v(Kind::kMap);
    v.map_ = map;
    return v;
  }
  static constexpr Value FromObject(const Object* object) {
    Value v(Kind::kObject);
    v.object_ = object;
    return v;
  }
  static constexpr Value Error(const ErrorNode* node) {
    Value v(Kind::kError);
    v.error_ = node;
    return v;
  }
  // The node itself must stay where it is (it does in a document) and outlive the value.
  static Value FromJson(const json::Value* node);

  Kind kind() const { return kind_; }
  bool is_unset() const { return kind_ == Kind::kUnset; }
  bool is_error() const { return kind_ == Kind::kError; }
  bool is_bool() const { return kind_ == Kind::kBool; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_list() const { return kind_ == Kind::kList; }
  bool is_map() const { return kind_ == Kind::kMap; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_true() const { return kind_ == Kind::kBool && int_ != 0; }
  bool is_false() const { return kind_ == Kind::kBool && int_ == 0; }
  bool is_number() const {
    return kind_ == Kind::kInt || kind_ == Kind::kUint || kind_ == Kind::kDouble;
  }

  // REQUIRES for all of these: the kind fits.
  bool bool_value() const { return int_ != 0; }
  std::int64_t int_value() const { return int_; }
  std::uint64_t uint_value() const { return uint_; }
  double double_value() const { return double_; }
  std::string_view text() const { return {text_, aux_}; }  // strings and bytes
  std::int64_t seconds() const { return int_; }            // timestamps
  std::uint32_t nanos() const { return aux_; }
  int offset_minutes() const { return offset_; }
  std::int64_t nanoseconds() const { return int_; }  // durations
  const Type* type_value() const { return type_; }
  const Value* content() const { return content_; }  // optionals; null if none
  const Object* object() const { return object_; }
  const ErrorNode* error() const { return error_; }

  // The JSON node of a list or map that was made from JSON, else null.
  const json::Value* json() const { return from_json_ ? json_ : nullptr; }
  const List* own_list() const { return from_json_ ? nullptr : list_; }
  const Map* own_map() const { return from_json_ ? nullptr : map_; }

  // Lists and maps of either origin. REQUIRES: the kind fits, index < size().
  std::size_t size() const;
  Value At(json::Arena& arena, std::size_t index) const;       // lists
  Value KeyAt(json::Arena& arena, std::size_t index) const;    // maps
  Value ValueAt(json::Arena& arena, std::size_t index) const;  // maps
  Value Find(json::Arena& arena, Value key) const;             // maps; unset if absent

 private:
  constexpr explicit Value(Kind kind) : kind_(kind) {}
  static constexpr Value Text(Kind kind, std::string_view text) {
    Value v(kind);
    v.text_ = text.data();
    v.aux_ = static_cast<std::uint32_t>(text.size());
    return v;
  }

  Kind kind_ = Kind::kUnset;
  bool from_json_ = false;
  std::int16_t offset_ = 0;
  std::uint32_t aux_ = 0;
  union {
    std::int64_t int_ = 0;
    std::uint64_t uint_;
    double double_;
    const char* text_;
    const json::Value* json_;
    const List* list_;
    const Map* map_;
    const Object* object_;
    const Type* type_;
    const Value* content_;
    const ErrorNode* error_;
  };
};
static_assert(sizeof(Value) == 16);

// A T that lives as long as the arena. Its destructor runs only if it is not trivial.
template <typename T, typename... Args>
const T* New(json::Arena& arena, Args&&... args) {
  if constexpr (std::is_trivially_destructible_v<T>) {
    return new (arena.Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  } else {
    auto owned = std::make_shared<T>(std::forward<Args>(args)...);
    const T* result = owned.get();
    arena.Retain(std::move(owned));
    return result;
  }
}

// --- Makers that copy into an arena ---

Value MakeString(json::Arena& arena, std::string_view text);
Value MakeBytes(json::Arena& arena, std::string_view bytes);
Value MakeError(json::Arena& arena, std::string_view text);
// ErrorCode::kInternal, for what cel-go panics with.
Value MakeInternalError(json::Arena& arena, std::string_view panic);
Value MakeSome(json::Arena& arena, Value content);
Value MakeList(json::Arena& arena, std::span<const Value> elements);
struct MapEntry {
  Value key;
  Value value;
};
// Whether keys of one kind are the same, as they are in a map of Go: lists, maps, optionals and most
// objects are the same as themselves only.
bool SameKey(Value a, Value b);
// Whether a map of Go can have the key: bytes and some objects it cannot, and cel-go panics.
bool IsHashable(Value key);
Value UnhashableKey(json::Arena& arena, Value key);  // what it answers then
// Later entries of the same key win.
Value MakeMap(json::Arena& arena, std::span<const MapEntry> entries);
// Keeps a copy of the root's 16 bytes; everything below is shared.
Value MakeFromJson(json::Arena& arena, json::Value value);

// Ready-made errors.
Value NoSuchOverload();
bool IsOrdinaryError(Value value);  // an error that && and || may absorb

// --- What all kinds share ---

const Type* TypeOf(Value value);           // the run-time type: list, map, google.protobuf.…
std::string_view TypeName(Value value);    // its name
std::string_view GoTypeName(Value value);  // `types.Int`, as some error texts print it
Value Equal(json::Arena& arena, Value a, Value b);  // a bool or an error
// -1, 0, 1 as int, or an error (`no such overload`, NaN). Numbers compare across kinds.
Value Compare(json::Arena& arena, Value a, Value b);
bool IsZeroValue(Value value);
// Sizes as the cost model sees them: code points, bytes, elements; 1 for everything else.
std::uint64_t CostSize(Value value);
std::size_t CodePoints(std::string_view text);

// As CEL's JSON conversion has it: int beyond 2^53 and bytes become strings, timestamps and
// durations their text, maps need string-like keys. Error text in the status.
base::Result<json::Value> ToJson(json::Arena& arena, Value value);
// For people and traces: CEL literal notation.
std::string DebugString(Value value);
// As Go's %v prints it inside error texts: strings bare, numbers without suffix.
std::string PlainText(Value value);

}  // namespace portcullis::cel
