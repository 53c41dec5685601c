// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/schema_openapi.h"

#include "base/strings.h"

namespace portcullis::api::catalog {

using json::Value;
using schema::Field;
using schema::Kind;
using schema::Schema;

void SchemaDocument::AddSchemas(const ResourceInfo& info, json::ObjectBuilder& definitions) {
  const GroupVersionKind list{info.kind.group, info.kind.version, info.list_kind};
  if (info.schema != nullptr) Add(*info.schema, &info.kind, definitions);
  if (info.list_schema != nullptr) Add(*info.list_schema, &list, definitions);
  AddOpen(definitions);
}

Value SchemaDocument::AddProperty(const Field& field, json::ObjectBuilder& definitions) {
  const Value property = Property(field);
  AddOpen(definitions);
  return property;
}

void SchemaDocument::AddOpen(json::ObjectBuilder& definitions) {
  while (!open_.empty()) {
    const Schema* next = open_.back();
    open_.pop_back();
    Add(*next, nullptr, definitions);
  }
}

void SchemaDocument::Add(const Schema& schema, const GroupVersionKind* kind,
                         json::ObjectBuilder& definitions) {
  if (definitions.Find(schema.definition) != nullptr) return;
  // Before it is complete: it may refer to itself.
  definitions.Set(schema.definition, Value::Bool(true));
  Value made = Inline(schema);
  if (kind != nullptr) {
    const Value entry = json::ObjectBuilder(arena_)
                            .Set("group", std::string_view(kind->group))
                            .Set("kind", std::string_view(kind->kind))
                            .Set("version", std::string_view(kind->version))
                            .Build();
    made = json::With(arena_, made, "x-kubernetes-group-version-kind",
                      json::MakeArray(arena_, {entry}));
  }
  definitions.Set(schema.definition, made);
}

Value SchemaDocument::TypeOf(const Schema& schema) {
  if (schema.definition.empty()) return Inline(schema);
  open_.push_back(&schema);
  const std::string ref =
      base::StrCat(v3_ ? "#/components/schemas/" : "#/definitions/", schema.definition);
  return json::ObjectBuilder(arena_).Set("$ref", std::string_view(ref)).Build();
}

Value SchemaDocument::Leaf(std::string_view type, std::string_view format) {
  json::ObjectBuilder leaf(arena_);
  leaf.Set("type", type);
  if (!format.empty()) leaf.Set("format", format);
  return leaf.Build();
}

Value SchemaDocument::Inline(const Schema& schema) {
  switch (schema.kind) {
    case Kind::kStruct:
      return Struct(schema);
    case Kind::kMap:
      return json::ObjectBuilder(arena_)
          .Set("type", "object")
          .Set("additionalProperties",
               schema.element != nullptr ? TypeOf(*schema.element) : json::MakeObject(arena_, {}))
          .Build();
    case Kind::kArray:
      return json::ObjectBuilder(arena_)
          .Set("type", "array")
          .Set("items",
               schema.element != nullptr ? TypeOf(*schema.element) : json::MakeObject(arena_, {}))
          .Build();
    case Kind::kInteger:
      return Leaf("integer", schema.format);
    case Kind::kNumber:
      return Leaf("number", schema.format);
    case Kind::kBoolean:
      return Leaf("boolean", {});
    case Kind::kBytes:
      return Leaf("string", "byte");
    case Kind::kTime:
    case Kind::kMicroTime:
      return Leaf("string", "date-time");
    case Kind::kIntOrString:
      return Leaf("string", "int-or-string");
    case Kind::kString:
    case Kind::kQuantity:
    case Kind::kDuration:
      return Leaf("string", {});
    case Kind::kAny:
    case Kind::kUnion:
      break;
  }
  return json::MakeObject(arena_, {});
}

Value SchemaDocument::Struct(const Schema& schema) {
  json::ObjectBuilder properties(arena_);
  json::ArrayBuilder required(arena_);
  for (const Field& field : schema.fields) {
    properties.Set(field.name, Property(field));
    if (field.required) required.Add(field.name);
  }
  json::ObjectBuilder made(arena_);
  made.Set("type", "object");
  if (!properties.empty()) made.Set("properties", properties.Build());
  if (required.size() > 0) made.Set("required", required.Build());
  return made.Build();
}

Value SchemaDocument::Property(const Field& field) {
  const Value type = TypeOf(*field.schema);
  if (!field.patch_merge || type.Has("$ref")) return type;
  json::ObjectBuilder property(arena_, type);
  property.Set("x-kubernetes-patch-strategy", "merge");
  if (!field.patch_merge_key().empty()) {
    property.Set("x-kubernetes-patch-merge-key", field.patch_merge_key());
  }
  return property.Build();
}

}  // namespace portcullis::api::catalog
