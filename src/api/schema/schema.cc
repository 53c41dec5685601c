// SPDX-License-Identifier: Apache-2.0

#include "api/schema/schema.h"

#include "api/schema/field_index.h"
#include "api/schema/patterns.h"
#include "base/strings.h"

namespace portcullis::api::schema {
SchemaPool::SchemaPool() = default;
SchemaPool::~SchemaPool() = default;

const Field* Schema::FindField(std::string_view name) const {
  return FindField(name, json::HashKey(name));
}

const Field* Schema::FindField(std::string_view name, std::uint32_t hash) const {
  return FindInIndex(field_index, fields, name, hash);
}

const Schema* SchemaPool::Leaf(Kind kind, std::string_view go_type, std::string_view format) {
  const std::string key =
      base::StrCat(std::to_string(static_cast<int>(kind)), "|", go_type, "|", format);
  const auto [place, added] = leaves_.try_emplace(key, nullptr);
  if (added) {
    Schema* leaf = Add();
    leaf->kind = kind;
    leaf->go_type = Copy(go_type);
    leaf->format = Copy(format);
    place->second = leaf;
  }
  return place->second;
}

const Constraints* SchemaPool::AddConstraints(json::Value props) {
  if (patterns_ == nullptr) patterns_ = std::make_unique<const Patterns>();
  return &constraints_.emplace_back(Constraints{props, patterns_.get()});
}

void SchemaPool::Finish(Schema& node) {
  for (Field& field : node.fields) field.hash = json::HashKey(field.name);
  node.field_index = MakeFieldIndex(node.fields);
}

std::size_t SchemaPool::bytes_used() const {
  std::size_t bytes = arena_.bytes_used() + nodes_.size() * sizeof(Schema) +
                      constraints_.size() * sizeof(Constraints) +
                      details_.size() * sizeof(FieldDetails);
  for (const Schema& node : nodes_) {
    bytes +=
        node.fields.capacity() * sizeof(Field) + node.field_index.capacity() * 2 +
        (node.list_map_keys.capacity() + node.enum_values.capacity()) * sizeof(std::string_view);
  }
  return bytes;
}

const Schema* FindSchema(const Schema& root, std::initializer_list<std::string_view> path) {
  const Schema* node = &root;
  for (const std::string_view step : path) {
    while (node->kind == Kind::kArray && node->element != nullptr) node = node->element;
    if (node->kind == Kind::kMap) {
      node = node->element;
    } else {
      const Field* field = node->FindField(step);
      node = field != nullptr ? field->schema : nullptr;
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

}  // namespace portcullis::api::schema
