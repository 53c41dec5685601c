// SPDX-License-Identifier: Apache-2.0

// OpenAPI of built-in kinds that no recorded document has, because Kubernetes has dropped them
// (docs/legacy.md): made of their schemas, without descriptions.
#pragma once

#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::api::catalog {

// Confined to one thread; lives no longer than the arena.
class SchemaDocument {
 public:
  SchemaDocument(json::Arena& arena, bool v3) : arena_(arena), v3_(v3) {}

  // Adds the definitions of the resource's objects and lists and all that these refer to, unless
  // `definitions` has them.
  void AddSchemas(const ResourceInfo& info, json::ObjectBuilder& definitions);
  // The property of a field; what it refers to is added likewise.
  json::Value AddProperty(const schema::Field& field, json::ObjectBuilder& definitions);

 private:
  void Add(const schema::Schema& schema, const GroupVersionKind* kind,
           json::ObjectBuilder& definitions);
  void AddOpen(json::ObjectBuilder& definitions);
  // A reference to a definition, which is to be added, or the type itself.
  json::Value TypeOf(const schema::Schema& schema);
  json::Value Inline(const schema::Schema& schema);
  json::Value Struct(const schema::Schema& schema);
  json::Value Property(const schema::Field& field);
  json::Value Leaf(std::string_view type, std::string_view format);

  json::Arena& arena_;
  const bool v3_;
  std::vector<const schema::Schema*> open_;  // referred to, not added yet
};

}  // namespace portcullis::api::catalog
