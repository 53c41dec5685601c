// SPDX-License-Identifier: Apache-2.0

// What Go writes of the fields of a struct: which it leaves out, and what it writes of those that are not set.
// Decoders of any encoding end with it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::schema {

// See DecodeOptions.
struct EmptyForms {
  bool empty_becomes_null = false;
  bool keeps_empty_bytes = false;
};

// What Go writes for a zero value.
json::Value ZeroOf(json::Arena& arena, const Schema& schema);

// WrittenWhenSet() of an empty value that Go leaves out.
std::optional<json::Value> WrittenEmpty(const Schema& owner, const Field& field, json::Value value,
                                        const EmptyForms& forms);

// A set of kinds as the bits of a word: each absent field of a struct is looked up, hundreds for a pod.
class KindSet {
 public:
  constexpr KindSet(std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) bits_ |= Bit(kind);
  }
  constexpr bool Has(Kind kind) const { return (bits_ & Bit(kind)) != 0; }

 private:
  static constexpr std::uint32_t Bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }
  std::uint32_t bits_ = 0;
};
// Their zero value is nil, which is written as null.
inline constexpr KindSet kNilKinds = {Kind::kArray, Kind::kMap, Kind::kBytes, Kind::kUnion};
// What omitempty does not leave out, even unset. IsEmptyInGo() is false for them, and for a union, which is left out
// by being nil.
inline constexpr KindSet kNeverEmptyKinds = {Kind::kStruct, Kind::kQuantity,  Kind::kIntOrString,
                                             Kind::kTime,   Kind::kMicroTime, Kind::kDuration,
                                             Kind::kAny};

inline bool IsEmptyInGo(Kind kind, json::Value value) {
  switch (kind) {
    case Kind::kArray:
    case Kind::kMap:
      return value.empty();
    case Kind::kString:
    case Kind::kBytes:
      return value.AsString().empty();
    case Kind::kInteger:
    case Kind::kNumber:
      return value.AsDouble() == 0;
    case Kind::kBoolean:
      return !value.AsBool();
    default:
      return false;  // structs are never empty to omitempty
  }
}

// What Go writes for a field of `owner` that holds `value`; nothing if it leaves the field out.
inline std::optional<json::Value> WrittenWhenSet(const Schema& owner, const Field& field,
                                                 json::Value value, const EmptyForms& forms) {
  if (field.pointer) return value;
  const Kind kind = field.schema->kind;
  const bool zero = field.omit == Omit::kZero && kind == Kind::kStruct && value.empty();
  if (field.omit != Omit::kNever && (zero || IsEmptyInGo(kind, value))) {
    return WrittenEmpty(owner, field, value, forms);
  }
  const bool collection = kind == Kind::kArray || kind == Kind::kMap;
  if (collection && forms.empty_becomes_null && value.empty()) return json::Value();
  return value;
}

// Whether Go leaves out a field that holds nothing, as nearly all are; else WrittenWhenUnset() tells.
inline bool IsLeftOutWhenUnset(const Field& field) {
  return field.omit == Omit::kEmpty && (field.pointer || !kNeverEmptyKinds.Has(field.schema->kind));
}

// The same for a field that holds nothing.
inline std::optional<json::Value> WrittenWhenUnset(json::Arena& arena, const Field& field) {
  if (IsLeftOutWhenUnset(field) || field.omit == Omit::kZero) return std::nullopt;
  const bool nil = field.pointer || kNilKinds.Has(field.schema->kind);
  return nil ? json::Value() : ZeroOf(arena, *field.schema);
}

// Sorts the entries of a map by their keys, as Go writes it and messages quote it. False if they are sorted already.
bool SortEntries(std::span<json::Member> entries);

inline json::Member WrittenMember(const Field& field, json::Value value) {
  json::Member member;
  member.name_data = field.name.data();
  member.name_size = static_cast<std::uint32_t>(field.name.size());
  member.hash = field.hash;
  member.value = value;
  return member;
}

}  // namespace portcullis::api::schema
