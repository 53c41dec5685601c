// SPDX-License-Identifier: Apache-2.0

#include "engine/codec/cbor.h"

#include <utility>
#include <vector>

#include "api/names.h"
#include "base/strings.h"
#include "cbor/reader.h"
#include "cbor/writer.h"
#include "engine/codec/kind_schema.h"
#include "golang/strconv.h"

namespace portcullis::engine {
namespace {

using api::schema::Field;
using api::schema::Kind;
using api::schema::Schema;

// The Go type that a scalar is decoded into, "" if `schema` takes anything.
std::string_view ScalarType(const Schema& schema, json::Value value) {
  switch (schema.kind) {
    case Kind::kString:
      return schema.go_type.empty() ? "string" : schema.go_type;
    case Kind::kQuantity:
    case Kind::kTime:
    case Kind::kMicroTime:
    case Kind::kDuration:
      return "string";
    case Kind::kIntOrString:
      return value.is_string() || value.is_int() ? "" : "int32";
    default:
      return schema.go_type;
  }
}

bool TakesType(const Schema& schema, json::Value value) {
  switch (schema.kind) {
    case Kind::kStruct:
    case Kind::kMap:
      return value.is_object();
    case Kind::kArray:
      return value.is_array();
    case Kind::kString:
    case Kind::kQuantity:
    case Kind::kTime:
    case Kind::kMicroTime:
    case Kind::kDuration:
      return value.is_string();
    case Kind::kBytes:
      return value.is_string() || value.is_array();
    case Kind::kInteger:
      return value.is_int();
    case Kind::kNumber:
      return value.is_number();
    case Kind::kBoolean:
      return value.is_bool();
    case Kind::kIntOrString:
      return value.is_string() || value.is_int();
    default:
      return true;
  }
}

class Checker {
 public:
  CborFaults Run(const Schema& schema, json::Value value) {
    top_ = schema.go_type;
    Check(schema, value);
    return std::move(faults_);
  }

 private:
  void Check(const Schema& schema, json::Value value) {
    if (value.is_null() || !faults_.type_error.empty()) return;
    if (!TakesType(schema, value)) return WrongType(schema, value);
    switch (schema.kind) {
      case Kind::kStruct:
        return CheckFields(schema, value);
      case Kind::kMap:
        if (schema.element == nullptr) return;
        for (const json::Member& member : value.members()) {
          CheckKey(member.name(), false);
          Check(*schema.element, member.value);
        }
        return;
      case Kind::kArray:
        if (schema.element == nullptr) return;
        for (const json::Value& element : value.elements()) Check(*schema.element, element);
        return;
      case Kind::kUnion:
        if (schema.element != nullptr && value.is_object()) Check(*schema.element, value);
        return;
      case Kind::kInteger:
        return CheckRange(schema, value.AsInt());
      case Kind::kBytes:
        return CheckBytes(value);
      case Kind::kAny:
        return CheckAny(schema, value);
      default:
        return;
    }
  }

  void CheckKey(std::string_view key, bool of_struct) {
    std::string fault = cbor::KeyFault(key, of_struct, Into());
    if (faults_.type_error.empty()) faults_.type_error = std::move(fault);
  }

  void CheckAny(const Schema& schema, json::Value value) {
    std::vector<json::Value> open = {value};  // may be 10,000 levels: not on the stack
    while (!open.empty()) {
      const json::Value next = open.back();
      open.pop_back();
      for (const json::Value& element : next.elements()) open.push_back(element);
      for (const json::Member& member : next.members()) {
        open.push_back(member.value);
        const std::string fault = cbor::KeyFault(member.name(), false, "value");
        if (fault.empty() || !faults_.type_error.empty()) continue;
        if (schema.go_type == "v1.FieldsV1")
          faults_.type_error =
              "failed to transcode FieldsV1 to JSON: metav1.FieldsV1 cbor invalid: ";
        faults_.type_error += fault;
      }
    }
  }

  std::string Into() const {
    return field_.empty() ? "value" : base::StrCat("struct field ", top_, ".", field_);
  }

  void CheckFields(const Schema& schema, json::Value value) {
    const bool outermost = depth_ == 0;
    ++depth_;
    std::size_t position = 0;
    for (const json::Member& member : value.members()) {
      CheckKey(member.name(), true);
      if (outermost) field_ = member.name();
      const Field* field = schema.FindField(member.name(), member.hash);
      const bool is_meta = outermost && (member.name() == "kind" || member.name() == "apiVersion");
      if (field != nullptr && field->schema != nullptr) {
        Check(*field->schema, member.value);
      } else if (!is_meta && !faults_.unknown_field) {
        faults_.unknown_field = position;
      }
      ++position;
    }
    --depth_;
  }

  void CheckRange(const Schema& schema, std::int64_t number) {
    if (schema.go_type == "int64") return;
    const std::int64_t limit = std::int64_t{1} << 31;
    if (number >= -limit && number < limit) return;
    WrongType(schema, json::Value::Int(number),
              base::StrCat(std::to_string(number), " overflows ", schema.go_type));
  }

  void CheckBytes(json::Value value) {
    std::size_t at = 0;
    if (!value.is_string() || base::Base64Decode(value.AsString(), &at)) return;
    faults_.type_error = base::StrCat(
        "cbor: failed to decode base64 from byte string: illegal base64 data at input "
        "byte ",
        std::to_string(at));
  }

  void WrongType(const Schema& schema, json::Value value, std::string_view why = {}) {
    faults_.type_error = base::StrCat("cbor: cannot unmarshal ", cbor::TypeName(value), " into Go ",
                                      Into(), " of type ", ScalarType(schema, value));
    if (!why.empty()) faults_.type_error += base::StrCat(" (", why, ")");
  }

  std::string_view top_;    // the Go type of the whole
  std::string_view field_;  // the field of it that is looked at: errors name no inner ones
  int depth_ = 0;
  CborFaults faults_;
};

void WriteFields(const Schema& schema, json::Value value, std::string& out) {
  cbor::WriteHead(cbor::Major::kMap, value.size(), out);
  for (const json::Member& member : value.members()) {
    const Field* field = schema.FindField(member.name(), member.hash);
    cbor::WriteString(member.name(), out);
    WriteCbor(field != nullptr ? field->schema : nullptr, member.value, out);
  }
}

}  // namespace

CborFaults CheckCborTypes(const Schema& schema, json::Value value) {
  return Checker().Run(schema, value);
}

void WriteCbor(const Schema* schema, json::Value value, std::string& out) {
  if (schema == nullptr) return cbor::Write(value, out);
  if (schema->kind == Kind::kStruct && value.is_object()) return WriteFields(*schema, value, out);
  if (schema->kind == Kind::kMap && value.is_object()) {
    cbor::WriteHead(cbor::Major::kMap, value.size(), out);
    for (const json::Member& member : value.members()) {
      cbor::WriteString(member.name(), out);
      WriteCbor(schema->element, member.value, out);
    }
    return;
  }
  if (schema->kind == Kind::kArray && value.is_array()) {
    cbor::WriteHead(cbor::Major::kArray, value.size(), out);
    for (const json::Value& element : value.elements()) WriteCbor(schema->element, element, out);
    return;
  }
  if (schema->kind == Kind::kBytes && value.is_string()) {
    if (const auto bytes = base::Base64Decode(value.AsString())) {
      return cbor::WriteBytes(*bytes, out);
    }
  }
  cbor::Write(value, out);
}

const Schema* CborSchemaOf(const api::catalog::Catalog& catalog, json::Value object) {
  const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
  if (!version.ok()) return nullptr;
  bool custom = false;
  const Schema* schema = SchemaOf(
      catalog, {version->group, version->version, std::string(object["kind"].AsString())}, custom);
  return custom ? nullptr : schema;
}

void WriteCborDocument(const api::catalog::Catalog& catalog, json::Value value, std::string& out) {
  out += cbor::kSelfDescribed;
  WriteCbor(CborSchemaOf(catalog, value), value, out);
}

}  // namespace portcullis::engine
