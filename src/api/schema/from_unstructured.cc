// SPDX-License-Identifier: Apache-2.0

#include "api/schema/from_unstructured.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "api/schema/decode.h"
#include "api/schema/written.h"
#include "base/strings.h"
#include "json/sorted.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

base::Status Error(std::string text) { return {base::Reason::kUnknown, std::move(text)}; }

// What %v prints of a reflect.Kind.
std::string_view GoKind(Value value) {
  constexpr std::string_view kKinds[] = {"invalid", "bool",  "int64", "float64",
                                         "string",  "slice", "map"};
  return kKinds[static_cast<std::size_t>(value.type())];
}

std::string_view GoKind(const Schema& schema) {
  switch (schema.kind) {
    case Kind::kBoolean:
      return "bool";
    case Kind::kString:
      return "string";
    default:
      return schema.format == "double" ? std::string_view("float64")
             : schema.format.empty()   ? std::string_view("int")
                                       : schema.format;
  }
}

// Go's conversion to a narrower integer keeps the low bits.
Value Narrowed(const Schema& schema, std::int64_t number) {
  if (schema.format == "uint8") return Value::Int(static_cast<std::uint8_t>(number));
  return Value::Int(schema.format == "int32" ? static_cast<std::int32_t>(number) : number);
}

base::Result<Value> Scalar(json::Arena& arena, const Schema& schema, Value value) {
  const auto no_conversion = [&](std::string_view from) {
    return Error(base::StrCat("cannot convert ", from, " to ", schema.go_type));
  };
  const bool number = schema.kind == Kind::kInteger || schema.kind == Kind::kNumber;
  if (schema.kind == Kind::kString && value.is_string()) return value;
  if (schema.kind == Kind::kBoolean && value.is_bool()) return value;
  if (number && value.is_int()) {
    if (schema.kind == Kind::kNumber) return AsFloat64(arena, value);
    return Narrowed(schema, value.AsInt());
  }
  if (number && value.is_double()) {
    const double given = value.AsDouble();
    if (schema.kind == Kind::kNumber) return AsFloat64(arena, value);
    if (given != std::trunc(given)) return no_conversion("float64");
    // What no int64 holds becomes the lowest one, as on amd64.
    constexpr double kBeyond = 9223372036854775808.0;
    if (!(given >= -kBeyond && given < kBeyond)) {
      return Narrowed(schema, std::numeric_limits<std::int64_t>::min());
    }
    return Narrowed(schema, static_cast<std::int64_t>(given));
  }
  // Go can make a text of an integer, only not this way.
  if (schema.kind == Kind::kString && value.is_int()) return no_conversion("int64");
  return Error(base::StrCat("unrecognized type: ", GoKind(schema)));
}

base::Result<Value> Struct(json::Arena& arena, const Schema& schema, Value value) {
  if (!value.is_object()) return Error(base::StrCat("cannot restore struct from: ", GoKind(value)));
  std::vector<json::Member> changed;
  for (const Field& field : schema.fields) {
    const Value* member = value.Find(field.name, field.hash);
    if (member == nullptr || field.schema == nullptr) continue;
    const Value made = TRY(FromUnstructured(arena, *field.schema, *member));
    if (!made.IsSameAs(*member)) changed.emplace_back(field.name, made);
  }
  if (changed.empty()) return value;
  json::ObjectBuilder out(arena, value);
  for (const json::Member& member : changed) out.Set(member.name(), member.value);
  return out.Build();
}

base::Result<Value> Map(json::Arena& arena, const Schema& schema, Value value) {
  if (!value.is_object()) return Error(base::StrCat("cannot restore map from ", GoKind(value)));
  if (schema.element == nullptr) return value;
  json::ObjectBuilder out(arena, value);
  bool changed = false;
  for (const json::Member& member : value.members()) {
    const Value made = TRY(FromUnstructured(arena, *schema.element, member.value));
    if (made.IsSameAs(member.value)) continue;
    out.Set(member.name(), made);
    changed = true;
  }
  return changed ? out.Build() : value;
}

base::Result<Value> Array(json::Arena& arena, const Schema& schema, Value value) {
  if (!value.is_array()) return Error(base::StrCat("cannot restore slice from ", GoKind(value)));
  if (schema.element == nullptr) return value;
  json::ArrayBuilder out(arena);
  bool changed = false;
  for (const Value& element : value.elements()) {
    const Value made = TRY(FromUnstructured(arena, *schema.element, element));
    changed = changed || !made.IsSameAs(element);
    out.Add(made);
  }
  return changed ? out.Build() : value;
}

// A list of numbers is bytes, too, of which Go keeps the low bits.
base::Result<Value> ByteList(json::Arena& arena, Value value) {
  Schema byte;
  byte.kind = Kind::kInteger;
  byte.format = byte.go_type = "uint8";
  std::string bytes;
  for (const Value& element : value.elements()) {
    const Value number = element.is_null() ? element : TRY(Scalar(arena, byte, element));
    bytes.push_back(static_cast<char>(number.AsInt()));
  }
  return json::String(arena, base::Base64Encode(bytes));
}

base::Result<Value> Bytes(json::Arena& arena, const Schema& schema, Value value) {
  if (value.is_array()) return ByteList(arena, value);
  if (!value.is_string()) return Error(base::StrCat("cannot restore slice from ", GoKind(value)));
  const auto decoded = Decode(arena, schema, value);
  if (decoded.ok()) return value;
  return Error(base::StrCat("error decoding from json: ", decoded.status().message()));
}

}  // namespace

base::Result<Value> FromUnstructured(json::Arena& arena, const Schema& schema, Value value) {
  if (value.is_null()) return value;
  switch (schema.kind) {
    case Kind::kStruct:
      return Struct(arena, schema, value);
    case Kind::kMap:
      return Map(arena, schema, value);
    case Kind::kArray:
      return Array(arena, schema, value);
    case Kind::kBytes:
      return Bytes(arena, schema, value);
    case Kind::kString:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kNumber:
      return Scalar(arena, schema, value);
    case Kind::kAny:
      // Written from a Go map, whose keys are in order.
      return schema.go_type == "runtime.RawExtension" ? json::Sorted(arena, value) : value;
    default:
      break;
  }
  // Types that read their JSON themselves.
  TRY(Decode(arena, schema, value));
  return value;
}

}  // namespace portcullis::api::schema
