// SPDX-License-Identifier: Apache-2.0

#include "kube_cel/object_types.h"

#include "base/strings.h"
#include "kube_cel/schema_rules.h"

namespace portcullis::kube_cel {
namespace {

using api::schema::Kind;
using api::schema::Schema;
using cel::Type;

// `runtime.RawExtension` and `v1.FieldsV1` are objects without known fields; JSON is anything.
bool IsOpenObject(const Schema& schema) {
  if (schema.definition.ends_with(".RawExtension") || schema.definition.ends_with(".FieldsV1")) {
    return true;
  }
  return schema.constraints != nullptr && schema.constraints->props["type"].AsString() == "object";
}

const Type* TextType(std::string_view format) {
  if (format == "byte") return &cel::kBytesType;
  if (format == "duration") return &cel::kDurationType;
  if (format == "date" || format == "date-time") return &cel::kTimestampType;
  return &cel::kStringType;
}

}  // namespace

const Type* ObjectTypes::Add(const Schema& schema, std::string name) {
  return TypeOf(schema, name, nullptr);
}

const Type* ObjectTypes::TypeOf(const Schema& schema, const std::string& name,
                                const Struct* parent) const {
  switch (schema.kind) {
    case Kind::kIntOrString:
      return &cel::kDynType;
    case Kind::kString:
    case Kind::kDuration:
      return TextType(schema.format);
    case Kind::kBytes:
      return &cel::kBytesType;
    case Kind::kTime:
    case Kind::kMicroTime:
      return &cel::kTimestampType;
    case Kind::kBoolean:
      return &cel::kBoolType;
    case Kind::kInteger:
      return &cel::kIntType;
    case Kind::kNumber:
      return &cel::kDoubleType;
    case Kind::kArray: {
      if (schema.element == nullptr) return nullptr;
      const Type* element = TypeOf(*schema.element, name + ".@idx", parent);
      return element == nullptr ? nullptr : cel::MakeListType(arena_, element);
    }
    case Kind::kMap: {
      if (schema.element == nullptr) return nullptr;
      const Type* value = TypeOf(*schema.element, name + ".@elem", parent);
      return value == nullptr ? nullptr : cel::MakeMapType(arena_, &cel::kStringType, value);
    }
    case Kind::kStruct:
      return StructType(&schema, name, parent);
    case Kind::kAny:
      return IsOpenObject(schema) ? StructType(nullptr, name, parent) : nullptr;
    case Kind::kQuantity:  // string or number: no single type
    case Kind::kUnion:
      return nullptr;
  }
  return nullptr;
}

const Type* ObjectTypes::StructType(const Schema* schema, const std::string& name,
                                    const Struct* parent) const {
  // A definition inside itself is an object without fields.
  if (schema != nullptr && !schema->definition.empty()) {
    for (const Struct* outer = parent; outer != nullptr; outer = outer->parent) {
      if (outer->schema != nullptr && outer->schema->definition == schema->definition) {
        schema = nullptr;
        break;
      }
    }
  }
  Struct& type = structs_[name];
  type.schema = schema;
  type.parent = parent;
  return cel::MakeStructType(arena_, name);
}

void ObjectTypes::MakeFields(Struct& type, const std::string& name) const {
  type.known = true;
  if (type.schema == nullptr) return;
  const auto add = [&](std::string_view field_name, const Schema& schema) {
    const std::string field = EscapeFieldName(field_name);
    if (field.empty()) return;
    const Type* found = TypeOf(schema, base::StrCat(name, ".", field), &type);
    if (found == nullptr) return;
    type.fields[field] = found;
    // Reserved words that may stand behind a dot are fields under their own name too.
    type.fields.try_emplace(std::string(field_name), found);
  };
  for (const api::schema::Field& field : type.schema->fields) {
    if (field.schema != nullptr) add(field.name, *field.schema);
  }
  if (!type.schema->embedded_resource) return;
  type.fields.try_emplace("apiVersion", &cel::kStringType);
  type.fields.try_emplace("kind", &cel::kStringType);
  if (type.fields.count("metadata") == 0 && object_meta_ != nullptr) {
    add("metadata", *object_meta_);
  }
}

const Type* ObjectTypes::FindStruct(std::string_view name) const { return next_->FindStruct(name); }

const Type* ObjectTypes::FindField(const Type& type, std::string_view field) const {
  const auto found = structs_.find(type.name);
  if (found == structs_.end()) return next_->FindField(type, field);
  if (!found->second.known) MakeFields(found->second, found->first);
  const auto entry = found->second.fields.find(field);
  return entry == found->second.fields.end() ? nullptr : entry->second;
}

}  // namespace portcullis::kube_cel
