// SPDX-License-Identifier: Apache-2.0

#include "api/schema/structural.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

// Copies a schema into the pool. Descriptions are most of a definition's bytes and are not needed
// from the schema, so they are left out. What is equal is kept once, be it a name,
// {"type":"string"} or the containers of a pod: definitions repeat themselves.
class Copier {
 public:
  explicit Copier(SchemaPool& pool) : pool_(pool) {}

  Value Copy(Value value) { return Copy(value, false).value; }

 private:
  // Equal values have equal numbers.
  struct Shared {
    Value value;
    std::size_t number = 0;
  };

  // `names`: the members are names chosen by the user, not keywords.
  Shared Copy(Value value, bool names) {
    if (value.is_array()) return CopyArray(value);
    if (value.is_object()) return CopyObject(value, names);
    return Once(json::ToString(value), [&] {
      return value.is_string() ? Value::StringView(Text(value.AsString()))
                               : json::DeepCopy(pool_.arena(), value);
    });
  }

  Shared CopyArray(Value value) {
    std::string key = "[";
    std::vector<Value> elements;
    for (const Value& element : value.elements()) {
      const Shared copy = Copy(element, false);
      elements.push_back(copy.value);
      key += base::StrCat(std::to_string(copy.number), ",");
    }
    return Once(std::move(key), [&] { return json::MakeArray(pool_.arena(), elements); });
  }

  Shared CopyObject(Value value, bool names) {
    std::string key = "{";
    std::vector<json::Member> members;
    for (const json::Member& member : value.members()) {
      const std::string_view name = member.name();
      // Below `properties` a description is a field like others.
      if (!names && (name == "description" || name == "externalDocs")) continue;
      const bool names_below =
          !names && (name == "properties" || name == "default" || name == "enum");
      const Shared copy = Copy(member.value, names_below);
      members.emplace_back(Text(name), copy.value);
      key += base::StrCat(std::to_string(copy.number), ",", std::to_string(name.size()), ":", name);
    }
    return Once(std::move(key), [&] { return json::MakeObject(pool_.arena(), members); });
  }

  template <typename MakeValue>
  Shared Once(std::string key, MakeValue make) {
    const auto [place, added] = shared_.try_emplace(std::move(key));
    if (added) place->second = {make(), shared_.size()};
    return place->second;
  }

  std::string_view Text(std::string_view text) {
    const auto known = texts_.find(text);
    if (known != texts_.end()) return *known;
    return *texts_.insert(pool_.Copy(text)).first;
  }

  SchemaPool& pool_;
  std::unordered_set<std::string_view> texts_;
  std::unordered_map<std::string, Shared> shared_;
};

constexpr std::array<std::string_view, 19> kConstraints = {"maximum",
                                                           "exclusiveMaximum",
                                                           "minimum",
                                                           "exclusiveMinimum",
                                                           "maxLength",
                                                           "minLength",
                                                           "pattern",
                                                           "maxItems",
                                                           "minItems",
                                                           "uniqueItems",
                                                           "multipleOf",
                                                           "enum",
                                                           "maxProperties",
                                                           "minProperties",
                                                           "required",
                                                           "allOf",
                                                           "oneOf",
                                                           "anyOf",
                                                           "x-kubernetes-validations"};

bool HasConstraints(Value props) {
  return props.Has("not") || std::any_of(kConstraints.begin(), kConstraints.end(),
                                         [&](std::string_view name) { return props.Has(name); });
}

ListType ListTypeOf(std::string_view name) {
  if (name == "atomic") return ListType::kAtomic;
  if (name == "set") return ListType::kSet;
  return name == "map" ? ListType::kMap : ListType::kUnset;
}

void PutField(Schema& node, std::string_view name, const Schema* schema) {
  for (Field& field : node.fields) {
    if (field.name != name) continue;
    field.schema = schema;
    return;
  }
  Field& field = node.fields.emplace_back();
  field.name = name;
  field.schema = schema;
  field.pointer = true;
}

// ObjectMeta with the defaults that the schema of an embedded resource has for its fields.
const Schema* WithDefaultsOf(SchemaPool& pool, const Schema* object_meta, const Schema* own) {
  if (object_meta == nullptr || own == nullptr) return object_meta;
  Schema* with_defaults = nullptr;
  for (const Field& field : own->fields) {
    if (field.default_value().is_null() || object_meta->FindField(field.name) == nullptr) continue;
    if (with_defaults == nullptr) *(with_defaults = pool.Add()) = *object_meta;
    for (Field& known : with_defaults->fields) {
      if (known.name != field.name) continue;
      FieldDetails details = known.details != nullptr ? *known.details : FieldDetails();
      details.default_value = field.default_value();
      known.details = pool.AddDetails(details);
    }
  }
  return with_defaults != nullptr ? with_defaults : object_meta;
}

// What each resource has, whatever its schema says of it.
void PutResourceFields(SchemaPool& pool, Schema& node, const Schema* object_meta) {
  const Schema* text = pool.Leaf(Kind::kString, "string", "");
  PutField(node, "apiVersion", text);
  PutField(node, "kind", text);
  PutField(node, "metadata", object_meta);
  node.field_index.clear();
  SchemaPool::Finish(node);
}

class Maker {
 public:
  Maker(SchemaPool& pool, const Schema* object_meta, bool preserves)
      : pool_(pool), object_meta_(object_meta), preserves_(preserves) {}

  const Schema* Make(Value props) {
    if (const Schema* leaf = PlainLeaf(props)) return leaf;
    // The same piece of JSON stands for the same node, see Copier.
    const json::Member* identity = props.size() == 0 ? nullptr : props.members().data();
    if (identity == nullptr) return MakeNode(props);
    if (const auto known = made_.find(identity); known != made_.end()) return known->second;
    const Schema* node = MakeNode(props);
    made_.emplace(identity, node);
    return node;
  }

  Schema* MakeNode(Value props) {
    Schema* node = pool_.Add();
    node->nullable = props["nullable"].AsBool();
    node->preserve_unknown_fields = props["x-kubernetes-preserve-unknown-fields"].AsBool() ||
                                    (preserves_ && props["type"].AsString() != "array");
    node->embedded_resource = props["x-kubernetes-embedded-resource"].AsBool();
    node->format = props["format"].AsString();
    node->list_type = ListTypeOf(props["x-kubernetes-list-type"].AsString());
    if (props["x-kubernetes-map-type"].AsString() == "atomic") node->map_type = MapType::kAtomic;
    for (const Value& key : props["x-kubernetes-list-map-keys"].elements()) {
      node->list_map_keys.push_back(key.AsString());
    }
    for (const Value& value : props["enum"].elements()) {
      if (value.is_string()) node->enum_values.push_back(value.AsString());
    }
    SetKind(*node, props);
    if (node->embedded_resource) {
      const Field* metadata = node->FindField("metadata");
      const Schema* own = metadata != nullptr ? metadata->schema : nullptr;
      PutResourceFields(pool_, *node, WithDefaultsOf(pool_, object_meta_, own));
    }
    if (HasConstraints(props)) node->constraints = pool_.AddConstraints(props);
    return node;
  }

 private:
  // The default of an element, which no field tells of, is found in its constraints (DefaultOfElement()).
  const Schema* MakeElement(Value props) {
    if (props["default"].is_null()) return Make(props);
    Schema* node = MakeNode(props);
    if (node->constraints == nullptr) node->constraints = pool_.AddConstraints(props);
    return node;
  }

  // Scalars that say no more than their type and format share a node.
  const Schema* PlainLeaf(Value props) {
    const auto members = props.members();
    const bool plain = std::all_of(members.begin(), members.end(), [](const json::Member& member) {
      return member.name() == "type" || member.name() == "format" || member.name() == "default";
    });
    const std::string_view type = props["type"].AsString();
    if (!plain || type.empty() || type == "object" || type == "array") return nullptr;
    const Kind kind = type == "string"    ? Kind::kString
                      : type == "integer" ? Kind::kInteger
                      : type == "number"  ? Kind::kNumber
                                          : Kind::kBoolean;
    return pool_.Leaf(kind, "", props["format"].AsString());
  }

  void SetKind(Schema& node, Value props) {
    const std::string_view type = props["type"].AsString();
    if (props["x-kubernetes-int-or-string"].AsBool()) {
      node.kind = Kind::kIntOrString;
    } else if (type == "object") {
      SetObject(node, props);
    } else if (type == "array") {
      node.kind = Kind::kArray;
      if (props["items"].is_object()) node.element = MakeElement(props["items"]);
    } else if (type == "string") {
      node.kind = Kind::kString;
    } else if (type == "integer") {
      node.kind = Kind::kInteger;
    } else if (type == "number") {
      node.kind = Kind::kNumber;
    } else if (type == "boolean") {
      node.kind = Kind::kBoolean;
    } else if (props["properties"].is_object() && !preserves_) {
      SetObject(node, props);
    }
  }

  void SetObject(Schema& node, Value props) {
    const Value additional = props["additionalProperties"];
    if (!props["properties"].is_object() && (additional.is_object() || additional.AsBool())) {
      node.kind = Kind::kMap;
      node.element =
          additional.is_object() ? MakeElement(additional) : pool_.Leaf(Kind::kAny, "", "");
      return;
    }
    node.kind = Kind::kStruct;
    node.fields.reserve(props["properties"].size());
    const auto required = props["required"].elements();
    for (const json::Member& property : props["properties"].members()) {
      Field& field = node.fields.emplace_back();
      field.name = property.name();
      field.schema = Make(property.value);
      field.pointer = true;
      if (const Value value = property.value["default"]; !value.is_null()) {
        field.details = pool_.AddDetails({.default_value = value});
      }
      field.required = std::any_of(required.begin(), required.end(), [&](const Value& name) {
        return name.AsString() == property.name();
      });
    }
    node.fields.shrink_to_fit();
    SchemaPool::Finish(node);
  }

  SchemaPool& pool_;
  const Schema* const object_meta_;
  const bool preserves_;
  std::unordered_map<const json::Member*, const Schema*> made_;
};

}  // namespace

Value DefaultOfElement(const Schema& container) {
  const Schema* element = container.element;
  const bool known = element != nullptr && element->constraints != nullptr;
  return known ? element->constraints->props["default"] : Value();
}

const Schema* MakeStructural(SchemaPool& pool, Value props, const Schema* object_meta,
                             bool preserves) {
  const Value kept = Copier(pool).Copy(props);
  Schema* root = Maker(pool, object_meta, preserves).MakeNode(kept);
  if (root->kind != Kind::kStruct) {
    root->kind = Kind::kStruct;
    root->preserve_unknown_fields = root->preserve_unknown_fields || props.is_null();
  }
  // The root's props are always wanted: OpenAPI documents are made from them.
  root->constraints = pool.AddConstraints(kept);
  PutResourceFields(pool, *root, object_meta);
  return root;
}

}  // namespace portcullis::api::schema
