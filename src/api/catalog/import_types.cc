// SPDX-License-Identifier: Apache-2.0

// A type is written as a text where it has no attributes: "#<definition>" for a reference,
// "<kind>|<Go type>|<format>" for a leaf; else as an object. See docs/internals/catalog.md.
#include "api/catalog/import_types.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

std::string_view RefName(Value schema) {
  Value ref = schema["$ref"];
  if (ref.is_null()) ref = schema["allOf"][std::size_t{0}]["$ref"];
  const std::string_view text = ref.AsString();
  return text.substr(text.rfind('/') + 1);
}

// "io.k8s.api.core.v1.PodSpec" is v1.PodSpec to Go.
std::string_view GoTypeOfDefinition(std::string_view definition) {
  const std::size_t last = definition.rfind('.');
  if (last == std::string_view::npos || last == 0) return definition;
  const std::size_t before = definition.rfind('.', last - 1);
  return before == std::string_view::npos ? definition : definition.substr(before + 1);
}

std::string_view WithoutPointer(std::string_view go_type) {
  return go_type.starts_with('*') ? go_type.substr(1) : go_type;
}

// The Go type of the elements of []T and map[K]T; "" if the type has a name of its own.
std::string_view ElementType(std::string_view go_type) {
  if (go_type.starts_with("[]")) return go_type.substr(2);
  if (!go_type.starts_with("map[")) return {};
  return go_type.substr(go_type.find(']') + 1);
}

std::string_view LeafKind(Value schema) {
  const std::string_view type = schema["type"].AsString();
  const std::string_view format = schema["format"].AsString();
  if (type == "string") {
    if (format == "byte") return "bytes";
    if (format == "date-time") return "time";
    if (format == "int-or-string") return "intOrString";
    return "string";
  }
  if (type == "integer" || type == "number" || type == "boolean") return type;
  return "any";
}

std::string DefaultGoType(std::string_view kind, std::string_view format) {
  if (kind == "string") return "string";
  if (kind == "boolean") return "bool";
  if (kind == "bytes") return "[]uint8";
  if (kind == "integer") return format.empty() ? "int64" : std::string(format);
  if (kind == "number") return "float64";
  return "";
}

// v3 gives every required field a default of Go's zero value, which says nothing.
bool IsTellingDefault(Value value) {
  if (value.is_null() || ((value.is_object() || value.is_array()) && value.empty())) return false;
  if (value.is_string()) return !value.AsString().empty();
  if (value.is_bool()) return value.AsBool();
  return !(value.is_number() && value.AsDouble() == 0);
}

class TypeImporter {
 public:
  TypeImporter(json::Arena& arena, const GoFacts& facts) : arena_(arena), facts_(facts) {}

  Value Definition(std::string_view name, Value schema) {
    const auto special = facts_.kinds.find(name);
    if (special != facts_.kinds.end()) return Special(name, special->second);
    if (schema["properties"].is_object() || facts_.types.contains(name)) {
      return Struct(name, schema);
    }
    return Type(schema, GoTypeOfDefinition(name));
  }

 private:
  Value Text(std::string text) { return json::String(arena_, text); }

  Value Special(std::string_view name, const SpecialKind& special) {
    if (special.element.empty()) {
      return Text(base::StrCat(special.kind, "|", GoTypeOfDefinition(name), "|"));
    }
    json::ObjectBuilder type(arena_);
    type.Set("kind", special.kind).Set("go", GoTypeOfDefinition(name));
    type.Set("element", base::StrCat("#", special.element));
    return type.Build();
  }

  Value Type(Value schema, std::string_view go_type) {
    go_type = WithoutPointer(go_type);
    const std::string_view ref = RefName(schema);
    if (!ref.empty()) return Text(base::StrCat("#", ref));
    const std::string_view type = schema["type"].AsString();
    if (type == "array") return Array(schema, go_type);
    if (type == "object" && schema["properties"].is_object()) return InlineStruct(schema, go_type);
    if (type == "object" && schema["additionalProperties"].is_object()) return Map(schema, go_type);
    const std::string_view kind = LeafKind(schema);
    const std::string_view format = schema["format"].AsString();
    const std::string go = go_type.empty() ? DefaultGoType(kind, format) : std::string(go_type);
    const std::string leaf = base::StrCat(kind, "|", go, "|", format);
    if (!schema.Has("enum")) return Text(leaf);
    json::ObjectBuilder object(arena_);
    object.Set("leaf", leaf).Set("enum", schema["enum"]);
    return object.Build();
  }

  void AddElement(Value schema, std::string_view go_type, json::ObjectBuilder& type) {
    const std::string_view element = ElementType(go_type);
    if (!go_type.empty()) type.Set("go", go_type);
    if (element.starts_with('*')) type.Set("elementPointer", true);
    type.Set("element", Type(schema, element));
  }

  Value Array(Value schema, std::string_view go_type) {
    json::ObjectBuilder type(arena_);
    type.Set("kind", "array");
    AddElement(schema["items"], go_type, type);
    if (schema.Has("x-kubernetes-list-type")) type.Set("list", schema["x-kubernetes-list-type"]);
    if (schema.Has("x-kubernetes-list-map-keys")) {
      type.Set("keys", schema["x-kubernetes-list-map-keys"]);
    }
    return type.Build();
  }

  Value Map(Value schema, std::string_view go_type) {
    json::ObjectBuilder type(arena_);
    type.Set("kind", "map");
    AddElement(schema["additionalProperties"], go_type, type);
    if (schema.Has("x-kubernetes-map-type")) type.Set("map", schema["x-kubernetes-map-type"]);
    return type.Build();
  }

  Value InlineStruct(Value schema, std::string_view go_type) {
    json::ObjectBuilder type(arena_);
    type.Set("kind", "struct").Set("go", go_type);
    type.Set("fields", Fields(schema, nullptr));
    return type.Build();
  }

  Value Struct(std::string_view name, Value schema) {
    const auto facts = facts_.types.find(name);
    json::ObjectBuilder type(arena_);
    type.Set("kind", "struct").Set("go", GoTypeOfDefinition(name));
    if (schema.Has("x-kubernetes-map-type")) type.Set("map", schema["x-kubernetes-map-type"]);
    type.Set("fields", Fields(schema, facts == facts_.types.end() ? nullptr : &facts->second));
    return type.Build();
  }

  // In Go's order where the facts know it; fields they do not know follow by name.
  Value Fields(Value schema, const std::vector<GoField>* facts) {
    const Value properties = schema["properties"];
    json::ArrayBuilder fields(arena_);
    std::vector<std::string_view> done;
    if (facts != nullptr) {
      for (const GoField& fact : *facts) {
        const Value* property = properties.Find(fact.name);
        if (property == nullptr) continue;
        fields.Add(FieldEntry(schema, fact.name, *property, &fact));
        done.push_back(fact.name);
      }
    }
    for (const json::Member& property : properties.members()) {
      if (std::find(done.begin(), done.end(), property.name()) != done.end()) continue;
      fields.Add(FieldEntry(schema, property.name(), property.value, nullptr));
    }
    return fields.Build();
  }

  static bool IsRequired(Value schema, std::string_view name) {
    const auto required = schema["required"].elements();
    return std::any_of(required.begin(), required.end(),
                       [&](const Value& entry) { return entry.AsString() == name; });
  }

  // An optional field that counts as "" where it is left out, which the key of a list may be.
  static bool IsEmptyDefault(Value schema, std::string_view name, Value property) {
    const Value given = property["default"];
    return given.is_string() && given.AsString().empty() && !IsRequired(schema, name);
  }

  static std::string Flags(bool required, Value property, const GoField* fact) {
    std::string flags;
    if (required) flags += 'r';
    // Without facts: required fields are always written, others are pointers.
    if (fact == nullptr) {
      flags += required ? "" : "pe";
    } else {
      if (fact->go_type.starts_with('*')) flags += 'p';
      if (fact->omit_empty) flags += 'e';
      if (fact->omit_zero) flags += 'z';
    }
    const std::string_view strategies = property["x-kubernetes-patch-strategy"].AsString();
    for (const std::string_view strategy : base::Split(strategies, ',')) {
      if (strategy == "merge") flags += 'm';
      if (strategy == "replace") flags += 'R';
      if (strategy == "retainKeys") flags += 'k';
    }
    return flags;
  }

  Value FieldEntry(Value schema, std::string_view name, Value property, const GoField* fact) {
    const std::string_view go_type = fact != nullptr ? fact->go_type : std::string_view();
    json::ArrayBuilder entry(arena_);
    entry.Add(name).Add(fact != nullptr ? fact->go_name : std::string_view());
    entry.Add(std::string_view(Flags(IsRequired(schema, name), property, fact)));
    entry.Add(Type(property, go_type));
    json::ObjectBuilder more(arena_);
    if (property.Has("x-kubernetes-patch-merge-key")) {
      more.Set("mergeKey", property["x-kubernetes-patch-merge-key"]);
    }
    if (IsTellingDefault(property["default"]) || IsEmptyDefault(schema, name, property)) {
      more.Set("default", property["default"]);
    }
    if (property.Has("$ref") && property.Has("x-kubernetes-map-type")) {
      more.Set("map", property["x-kubernetes-map-type"]);
    }
    if (!more.empty()) entry.Add(more.Build());
    return entry.Build();
  }

  json::Arena& arena_;
  const GoFacts& facts_;
};

// `base` with the defaults that `other` gives the same fields.
Value WithDefaults(json::Arena& arena, Value base, Value other) {
  Value properties = base["properties"];
  for (const json::Member& member : properties.members()) {
    const Value given = other["properties"][member.name()]["default"];
    if (!IsTellingDefault(given) && !given.is_string()) continue;
    properties = json::With(arena, properties, member.name(),
                            json::With(arena, member.value, "default", given));
  }
  return properties.IsSameAs(base["properties"])
             ? base
             : json::With(arena, base, "properties", properties);
}

}  // namespace

base::Result<Value> CollectDefinitions(json::Arena& arena, Value openapi_v2, Value openapi_v3) {
  std::map<std::string_view, Value> definitions;
  for (const json::Member& member : openapi_v2["definitions"].members()) {
    definitions.emplace(member.name(), member.value);
  }
  std::map<std::string_view, bool> seen;
  for (const json::Member& document : openapi_v3["documents"].members()) {
    for (const json::Member& member : document.value["components"]["schemas"].members()) {
      if (!seen.emplace(member.name(), true).second) continue;
      const auto [place, added] = definitions.emplace(member.name(), member.value);
      if (!added) place->second = WithDefaults(arena, place->second, member.value);
    }
  }
  if (definitions.empty()) return base::ConfigError("no OpenAPI definitions were given");
  json::ObjectBuilder object(arena);
  for (const auto& [name, schema] : definitions) object.Add(name, schema);
  return object.Build();
}

Value ImportTypes(json::Arena& arena, Value definitions, const GoFacts& facts) {
  TypeImporter importer(arena, facts);
  json::ObjectBuilder types(arena);
  for (const json::Member& member : definitions.members()) {
    types.Add(member.name(), importer.Definition(member.name(), member.value));
  }
  return types.Build();
}

}  // namespace portcullis::api::catalog
