// SPDX-License-Identifier: Apache-2.0

#include "api/schema/from_unstructured.h"

#include <algorithm>
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
    // A number beyond int64 becomes the lowest int64, as Go's conversion on amd64.
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

class Restorer {
 public:
  Restorer(json::Arena& arena, std::vector<std::string>* unknown)
      : arena_(arena), unknown_(unknown) {}

  base::Result<Value> Convert(const Schema& schema, Value value);

 private:
  base::Result<Value> Struct(const Schema& schema, Value value);
  base::Result<Value> Map(const Schema& schema, Value value);
  base::Result<Value> Array(const Schema& schema, Value value);

  // What `step` leads to.
  base::Result<Value> Below(std::string_view step, const Schema& schema, Value value) {
    if (unknown_ == nullptr) return Convert(schema, value);
    const std::size_t length = path_.size();
    path_ = PathTo(step);
    auto converted = Convert(schema, value);
    path_.resize(length);
    return converted;
  }
  std::string PathTo(std::string_view step) const {
    const bool dot = !path_.empty() && !step.starts_with('[');
    return base::StrCat(path_, dot ? "." : "", step);
  }

  json::Arena& arena_;
  std::vector<std::string>* unknown_;  // null: unknown fields stay
  std::string path_;                   // without the keys of maps
};

base::Result<Value> Restorer::Struct(const Schema& schema, Value value) {
  if (!value.is_object()) return Error(base::StrCat("cannot restore struct from: ", GoKind(value)));
  std::vector<json::Member> members;
  members.reserve(value.size());
  bool changed = false;
  for (json::Member member : value.members()) {
    const Field* field = schema.FindField(member.name(), member.hash);
    if (field != nullptr && field->schema != nullptr) {
      const Value made = TRY(Below(member.name(), *field->schema, member.value));
      changed = changed || !made.IsSameAs(member.value);
      member.value = made;
    } else if (field == nullptr && unknown_ != nullptr && !schema.preserve_unknown_fields) {
      unknown_->push_back(PathTo(member.name()));
      changed = true;
      continue;
    }
    members.push_back(member);
  }
  return changed ? json::MakeObject(arena_, members) : value;
}

base::Result<Value> Restorer::Map(const Schema& schema, Value value) {
  if (!value.is_object()) return Error(base::StrCat("cannot restore map from ", GoKind(value)));
  if (schema.element == nullptr) return value;
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  bool changed = false;
  for (json::Member& member : members) {
    const Value made = TRY(Convert(*schema.element, member.value));
    changed = changed || !made.IsSameAs(member.value);
    member.value = made;
  }
  return changed ? json::MakeObject(arena_, members) : value;
}

base::Result<Value> Restorer::Array(const Schema& schema, Value value) {
  if (!value.is_array()) return Error(base::StrCat("cannot restore slice from ", GoKind(value)));
  if (schema.element == nullptr) return value;
  std::vector<Value> elements(value.elements().begin(), value.elements().end());
  bool changed = false;
  std::size_t index = 0;
  for (Value& element : elements) {
    const std::string step = base::StrCat("[", std::to_string(index++), "]");
    const Value made = TRY(Below(step, *schema.element, element));
    changed = changed || !made.IsSameAs(element);
    element = made;
  }
  return changed ? json::MakeArray(arena_, elements) : value;
}

base::Result<Value> Restorer::Convert(const Schema& schema, Value value) {
  if (value.is_null()) return value;
  switch (schema.kind) {
    case Kind::kStruct:
      return Struct(schema, value);
    case Kind::kMap:
      return Map(schema, value);
    case Kind::kArray:
      return Array(schema, value);
    case Kind::kBytes:
      return Bytes(arena_, schema, value);
    case Kind::kString:
    case Kind::kBoolean:
    case Kind::kInteger:
    case Kind::kNumber:
      return Scalar(arena_, schema, value);
    case Kind::kAny:
      // Both are written from Go maps, whose keys are in order; the copy is without the text of a client.
      if (schema.go_type == "runtime.RawExtension") {
        return json::Sorted(arena_, json::DeepCopy(arena_, value));
      }
      return schema.go_type == "v1.JSON" ? json::Sorted(arena_, value) : value;
    default:
      break;
  }
  // Types that read their JSON themselves.
  TRY(Decode(arena_, schema, value));
  return value;
}

}  // namespace

base::Result<Value> FromUnstructured(json::Arena& arena, const Schema& schema, Value value,
                                     std::vector<std::string>* unknown_fields) {
  auto converted = Restorer(arena, unknown_fields).Convert(schema, value);
  if (unknown_fields != nullptr) std::sort(unknown_fields->begin(), unknown_fields->end());
  return converted;
}

}  // namespace portcullis::api::schema
