// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/structural_schema.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/schema/schema.h"
#include "base/strings.h"
#include "cel/library/regex.h"
#include "json/sorted.h"
#include "registry/custom_resources/definition_text.h"
#include "registry/custom_resources/embedded_objects.h"
#include "registry/custom_resources/schema_defaults.h"
#include "registry/custom_resources/schema_rules.h"

namespace portcullis::registry {
namespace {

using json::Value;

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";
constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kMapKeys = "x-kubernetes-list-map-keys";
constexpr std::string_view kMapType = "x-kubernetes-map-type";

// Where a schema stands; decides what the message about a missing type says.
enum class Place { kRoot, kField, kItems };

// Whether Go's structural form lacks this member of a schema: it makes such a list or map anew, if something is in it.
bool IsLeftOut(const json::Member& member) {
  constexpr std::string_view kMadeAnew[] = {
      "enum", "allOf", "anyOf", "oneOf", "patternProperties", "definitions", "dependencies"};
  return member.value.empty() &&
         std::count(std::begin(kMadeAnew), std::end(kMadeAnew), member.name()) > 0;
}

// The invariants of structural schemas (pkg/apiserver/schema/validation.go).
class Invariants {
 public:
  explicit Invariants(FieldErrors& errors) : errors_(errors) {}

  void Check(Value props, Place place, const FieldPath& path) {
    if (props["type"].AsString() == "array" && !props["items"].is_object()) {
      errors_.push_back(api::Required(path.Child("items"), "must be specified"));
    }
    if (props["items"].is_object()) Check(props["items"], Place::kItems, path.Child("items"));
    for (const json::Member* property : json::MembersByName(props["properties"])) {
      Check(property->value, Place::kField, path.Child("properties").Key(property->name()));
    }
    const Value additional = props["additionalProperties"];
    if (!additional.is_null()) {
      const FieldPath at = path.Child("additionalProperties");
      if (place == Place::kRoot) Forbid(at, "must not be used at the root");
      if (additional.is_object()) Check(additional, Place::kField, at);
    }
    CheckIntOrString(props, path);
    CheckValidations(props, IsPattern(props["anyOf"]),
                     IsPattern(props["allOf"][std::size_t{0}]["anyOf"]), path);
    CheckType(props, place, path);
    CheckResource(props, place, path);
  }

  // What is validated inside allOf, anyOf, oneOf and not has a schema outside of them too.
  void CheckCompleteness(Value validation, Value structure, const FieldPath& schema_path,
                         const FieldPath& path) {
    if (validation["not"].is_object()) {
      Complete(validation["not"], structure, schema_path, path.Child("not"));
    }
    for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
      std::size_t index = 0;
      for (const Value& schema : validation[list].elements()) {
        Complete(schema, structure, schema_path, path.Child(list).Index(index++));
      }
    }
  }

 private:
  void Forbid(const FieldPath& path, std::string_view text) {
    errors_.push_back(api::Forbidden(path, text));
  }

  void Complete(Value validation, Value structure, const FieldPath& schema_path,
                const FieldPath& path) {
    if (!structure.is_object()) {
      errors_.push_back(
          api::Required(schema_path, base::StrCat("because it is defined in ", path.ToString())));
      return;
    }
    CheckCompleteness(validation, structure, schema_path, path);
    if (validation["items"].is_object()) {
      Complete(validation["items"], structure["items"], schema_path.Child("items"),
               path.Child("items"));
    }
    for (const json::Member* property : json::MembersByName(validation["properties"])) {
      Complete(property->value, structure["properties"][property->name()],
               schema_path.Child("properties").Key(property->name()),
               path.Child("properties").Key(property->name()));
    }
  }

  void CheckIntOrString(Value props, const FieldPath& path) {
    if (!props[kIntOrString].AsBool()) return;
    for (const std::string_view field : {kPreserve, kEmbedded}) {
      if (!props[field].AsBool()) continue;
      errors_.push_back(api::Invalid(path.Child(field), true,
                                     "must be false if x-kubernetes-int-or-string is true"));
    }
  }

  // anyOf: [{type: integer}, {type: string}], the one place where types may be nested.
  static bool IsPattern(Value any_of) {
    const auto is = [&](std::size_t index, std::string_view type) {
      const auto members = any_of[index].members();
      const auto left_out = std::count_if(members.begin(), members.end(), IsLeftOut);
      return std::ssize(members) - left_out == 1 && any_of[index]["type"].AsString() == type;
    };
    return any_of.size() == 2 && is(0, "integer") && is(1, "string");
  }

  void CheckValidations(Value props, bool skip_any, bool skip_first, const FieldPath& path) {
    for (const std::string_view list : {"anyOf", "allOf", "oneOf"}) {
      if (list == "anyOf" && skip_any) continue;
      std::size_t index = 0;
      for (const Value& schema : props[list].elements()) {
        CheckNested(schema, list == "allOf" && skip_first && index == 0,
                    path.Child(list).Index(index));
        ++index;
      }
    }
    if (props["not"].is_object()) CheckNested(props["not"], false, path.Child("not"));
    const std::string_view pattern = props["pattern"].AsString();
    if (pattern.empty()) return;
    const auto regex = cel::Regex::Compile(pattern);
    if (regex.ok()) return;
    errors_.push_back(api::Invalid(
        path.Child("pattern"), pattern,
        base::StrCat("must be a valid regular expression, but isn't: ", regex.status().message())));
  }

  // Inside allOf, anyOf, oneOf and not only value validations may stand.
  void CheckNested(Value props, bool skip_any, const FieldPath& path) {
    CheckValidations(props, skip_any, false, path);
    if (props["items"].is_object()) CheckNested(props["items"], false, path.Child("items"));
    for (const json::Member* property : json::MembersByName(props["properties"])) {
      CheckNested(property->value, false, path.Child("properties").Key(property->name()));
    }
    constexpr std::pair<std::string_view, std::string_view> kRows[] = {
        {"type", "empty"},
        {"additionalProperties", "undefined"},
        {"default", "undefined"},
        {"title", "empty"},
        {"description", "empty"},
        {"nullable", "false"},
        {kPreserve, "false"},
        {kEmbedded, "false"},
        {kIntOrString, "false"},
        {kMapKeys, "empty"},
        {kListType, "undefined"},
        {kMapType, "undefined"},
        {"x-kubernetes-validations", "empty"}};
    for (const auto& [field, wanted] : kRows) {
      const Value value = props[field];
      const bool good = value.is_null() || (wanted == "false" && !value.AsBool()) ||
                        (wanted == "empty" && value.AsString().empty() && value.empty());
      if (!good) Forbid(path.Child(field), base::StrCat("must be ", wanted, " to be structural"));
    }
    if (props["properties"].Has("metadata")) {
      Forbid(path.Child("properties").Key("metadata"), "must not be specified in a nested context");
    }
  }

  void CheckType(Value props, Place place, const FieldPath& path) {
    const std::string_view type = props["type"].AsString();
    const FieldPath at = path.Child("type");
    if (props[kEmbedded].AsBool() && type != "object") {
      constexpr std::string_view kText = "must be object if x-kubernetes-embedded-resource is true";
      errors_.push_back(type.empty() ? api::Required(at, kText) : api::Invalid(at, type, kText));
    } else if (type.empty() && !props[kIntOrString].AsBool() && !props[kPreserve].AsBool()) {
      errors_.push_back(api::Required(at, place == Place::kRoot ? "must not be empty at the root"
                                          : place == Place::kItems
                                              ? "must not be empty for specified array items"
                                              : "must not be empty for specified object "
                                                "fields"));
    }
    if (props[kEmbedded].AsBool() && !props["additionalProperties"].is_null()) {
      Forbid(path.Child("additionalProperties"),
             "must not be used if x-kubernetes-embedded-resource is set");
    }
    if (place == Place::kRoot && !type.empty() && type != "object") {
      errors_.push_back(api::Invalid(at, type, "must be object at the root"));
    }
  }

  // The fields that every object has.
  void CheckResource(Value props, Place place, const FieldPath& path) {
    const bool is_resource = place == Place::kRoot || props[kEmbedded].AsBool();
    const Value properties = props["properties"];
    const auto must_be = [&](std::string_view name, std::string_view type) {
      const Value* field = properties.Find(name);
      if (!is_resource || field == nullptr || (*field)["type"].AsString() == type) return;
      errors_.push_back(api::Invalid(path.Child("properties").Key(name).Child("type"),
                                     (*field)["type"].AsString(), base::StrCat("must be ", type)));
    };
    must_be("kind", "string");
    must_be("apiVersion", "string");
    must_be("metadata", "object");
    if (place == Place::kRoot && properties["metadata"].is_object()) {
      CheckMetadata(properties["metadata"], path.Child("properties").Key("metadata"));
    }
    if (props[kEmbedded].AsBool() && !props[kPreserve].AsBool() && properties.empty()) {
      errors_.push_back(api::Required(path.Child("properties"),
                                      "must not be empty if x-kubernetes-embedded-resource is true "
                                      "without x-kubernetes-preserve-unknown-fields"));
    }
  }

  void CheckMetadata(Value metadata, const FieldPath& path) {
    bool good = true;
    for (const json::Member& member : metadata.members()) {
      const std::string_view name = member.name();
      if (name == "type" || name == "default" || name == "externalDocs" || name == "example") {
        continue;
      }
      if (name == "properties") {
        for (const json::Member& property : member.value.members()) {
          good = good && (property.name() == "name" || property.name() == "generateName");
        }
        continue;
      }
      if (IsLeftOut(member)) continue;
      const Value value = member.value;
      good = good && (value.is_null() || (value.is_bool() && !value.AsBool()) ||
                      (value.is_string() && value.AsString().empty()));
    }
    if (good) return;
    Forbid(path,
           "must not specify anything other than name and generateName, but metadata is implicitly "
           "specified");
  }

  FieldErrors& errors_;
};

// What may stand in a schema at all (pkg/apis/apiextensions/validation).
class Vocabulary {
 public:
  explicit Vocabulary(FieldErrors& errors) : errors_(errors) {}

  struct Place {
    bool is_root = false;
    bool inside_meta = false;  // of the schema of an ObjectMeta or TypeMeta
    std::string no_default;    // why there may be no default; "" if there may
  };

  void Check(Value props, const Place& place, const FieldPath& path) {
    CheckForbidden(props, place, path);
    const Value additional = props["additionalProperties"];
    if (!additional.is_null()) {
      const FieldPath at = path.Child("additionalProperties");
      if (!props["properties"].empty() && (additional.is_object() || !additional.AsBool())) {
        Forbid(at, "additionalProperties and properties are mutual exclusive");
      }
      Place below{false, place.inside_meta, place.no_default};
      if (place.inside_meta) {
        below.no_default = " inside additionalProperties applying to object metadata";
      }
      if (additional.is_object()) Check(additional, below, at);
    }
    const bool is_resource = place.is_root || props[kEmbedded].AsBool();
    for (const json::Member* property : json::MembersByName(props["properties"])) {
      Place below{false, place.inside_meta, place.no_default};
      if (is_resource && IsMetaField(property->name())) {
        below.inside_meta = true;
        if (place.is_root) below.no_default = base::StrCat(" in top-level ", property->name());
      }
      Check(property->value, below, path.Child("properties").Key(property->name()));
    }
    const Place same{false, place.inside_meta, place.no_default};
    if (props["not"].is_object()) Check(props["not"], same, path.Child("not"));
    for (const std::string_view list : {"allOf", "oneOf", "anyOf"}) {
      std::size_t index = 0;
      for (const Value& schema : props[list].elements()) {
        Check(schema, same, path.Child(list).Index(index++));
      }
    }
    CheckEach(props["definitions"], same, path.Child("definitions"));
    const Value items = props["items"];
    if (items.is_object()) Check(items, same, path.Child("items"));
    for (std::size_t i = 0; i < items.size() && items.is_array(); ++i) {
      Check(items[i], same, path.Child("items").Index(i));
    }
    CheckEach(props["dependencies"], same, path.Child("dependencies"));
    CheckExtensions(props, path);
    CheckRuleTexts(props, path, errors_);
  }

 private:
  void CheckEach(Value schemas, const Place& place, const FieldPath& path) {
    for (const json::Member* schema : json::MembersByName(schemas)) {
      if (schema->value.is_object()) Check(schema->value, place, path.Key(schema->name()));
    }
  }

  void Forbid(const FieldPath& path, std::string_view text) {
    errors_.push_back(api::Forbidden(path, text));
  }

  void CheckForbidden(Value props, const Place& place, const FieldPath& path) {
    const std::string_view type = props["type"].AsString();
    constexpr std::string_view kTypes[] = {"array",  "boolean", "integer",
                                           "number", "object",  "string"};
    if (!type.empty() &&
        std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
      errors_.push_back(api::NotSupported(
          path.Child("type"), type, {"array", "boolean", "integer", "number", "object", "string"}));
    }
    if (!props["default"].is_null() && !place.no_default.empty()) {
      Forbid(path.Child("default"), base::StrCat("must not be set", place.no_default));
    }
    for (const std::string_view field :
         {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"}) {
      const Value value = props[field];
      const bool holds = field == "id" || field == "patternProperties" || field == "definitions";
      const bool set = holds ? !value.AsString().empty() || value.size() > 0 : !value.is_null();
      if (set) Forbid(path.Child(field), base::StrCat(field, " is not supported"));
    }
    if (type == "null") {
      Forbid(path.Child("type"), "type cannot be set to null, use nullable as an alternative");
    }
    if (props["items"].is_array() && !props["items"].empty()) {
      Forbid(path.Child("items"), "items must be a schema object and not an array");
    }
    if (place.inside_meta && props[kEmbedded].AsBool()) {
      Forbid(path.Child(kEmbedded), "must not be used inside of resource meta");
    }
    if (props["uniqueItems"].AsBool()) {
      Forbid(path.Child("uniqueItems"),
             "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
  }

  // `type` is the one that the extension is for.
  void CheckHasType(Value props, std::string_view type, std::string_view extension,
                    const FieldPath& path) {
    const std::string_view is = props["type"].AsString();
    if (is == type) return;
    const FieldPath at = path.Child("type");
    const std::string text = base::StrCat("must be ", type, " if ", extension, " is specified");
    errors_.push_back(is.empty() ? api::Required(at, text) : api::Invalid(at, is, text));
  }

  void CheckExtensions(Value props, const FieldPath& path) {
    if (const Value keep = props[kPreserve]; keep.is_bool() && !keep.AsBool()) {
      errors_.push_back(api::Invalid(path.Child(kPreserve), false, "must be true or undefined"));
    }
    if (const Value map_type = props[kMapType]; !map_type.is_null()) {
      CheckHasType(props, "object", kMapType, path);
      CheckOneOf(map_type, path.Child(kMapType), {"atomic", "granular"}, errors_, GoType::kString);
    }
    const Value list_type = props[kListType];
    const Value keys = props[kMapKeys];
    if (!list_type.is_null()) {
      if (props["type"].AsString() == "array") {
        if (list_type.AsString() == "set") CheckSetItems(props["items"], path.Child("items"));
      } else {
        CheckHasType(props, "array", kListType, path);
      }
      CheckOneOf(list_type, path.Child(kListType), {"atomic", "set", "map"}, errors_,
                 GoType::kString);
    }
    if (!keys.empty() && list_type.AsString() != "map") {
      const FieldPath at = path.Child(kListType);
      constexpr std::string_view kText = "must be map if x-kubernetes-list-map-keys is non-empty";
      errors_.push_back(list_type.is_null() ? api::Required(at, kText)
                                            : api::Invalid(at, list_type, kText));
    }
    if (list_type.AsString() == "map") CheckMapItems(props, path);
    CheckNullable(props, path);
  }

  // Elements of sets are compared as a whole.
  void CheckSetItems(Value items, const FieldPath& path) {
    constexpr std::string_view kText =
        "must be atomic as item of a list with x-kubernetes-list-type=set";
    const std::string_view type = items["type"].AsString();
    const Value list_type = items[kListType];
    if (type == "array" && !list_type.is_null() && list_type.AsString() != "atomic") {
      errors_.push_back(api::Invalid(path.Child(kListType), list_type, kText));
    } else if (type == "object" && items[kMapType].AsString() != "atomic") {
      errors_.push_back(api::Invalid(path.Child(kMapType), list_type, kText));
    }
  }

  void CheckMapItems(Value props, const FieldPath& path) {
    const Value keys = props[kMapKeys];
    const Value items = props["items"];
    const FieldPath keys_path = path.Child(kMapKeys);
    if (keys.empty()) {
      errors_.push_back(
          api::Required(keys_path, "must not be empty if x-kubernetes-list-type is map"));
    }
    if (items.is_null()) {
      errors_.push_back(api::Required(path.Child("items"),
                                      "must have a schema if x-kubernetes-list-type is map"));
    } else if (!items.is_object()) {
      errors_.push_back(
          api::Invalid(path.Child("items"), api::BadValue::Raw(ItemsText(items)),
                       "must only have a single schema if x-kubernetes-list-type is map"));
    }
    if (!items.is_object()) return;
    const std::string_view type = items["type"].AsString();
    if (type != "object") {
      errors_.push_back(
          api::Invalid(path.Child("items").Child("type"), type,
                       "must be object if parent array's x-kubernetes-list-type is map"));
      return;
    }
    std::set<std::string_view> seen;
    for (const Value& key : keys.elements()) {
      const Value* property = items["properties"].Find(key.AsString());
      if (property == nullptr) {
        errors_.push_back(
            api::Invalid(keys_path, keys, "entries must all be names of item properties"));
      } else if (const std::string_view is = (*property)["type"].AsString();
                 is == "array" || is == "object") {
        errors_.push_back(
            api::Invalid(path.Child("items", "properties").Key(key.AsString()).Child("type"), type,
                         "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      }
      if (!seen.insert(key.AsString()).second) {
        errors_.push_back(api::Invalid(keys_path, keys, "must not contain duplicate entries"));
      }
    }
  }

  // What elements are known by is always there.
  void CheckNullable(Value props, const FieldPath& path) {
    const std::string_view list_type = props[kListType].AsString();
    const Value items = props["items"];
    if (!items.is_object() || (list_type != "set" && list_type != "map")) return;
    const FieldPath at = path.Child("items");
    if (items["nullable"].AsBool()) {
      Forbid(at.Child("nullable"),
             base::StrCat("cannot be nullable when x-kubernetes-list-type is ", list_type));
    }
    if (list_type == "set") return;
    std::set<std::string_view> required;
    for (const Value& name : items["required"].elements()) required.insert(name.AsString());
    for (const Value& key : props[kMapKeys].elements()) {
      const Value* property = items["properties"].Find(key.AsString());
      if (property == nullptr) continue;
      const FieldPath key_path = at.Child("properties").Key(key.AsString());
      const bool there = !(*property)["default"].is_null() || required.contains(key.AsString());
      if (!there) {
        errors_.push_back(api::Required(key_path.Child("default"),
                                        "this property is in x-kubernetes-list-map-keys, so it "
                                        "must have a default or be a required property"));
      }
      if ((*property)["nullable"].AsBool()) {
        Forbid(key_path.Child("nullable"),
               "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
      }
    }
  }

  FieldErrors& errors_;
};

// A schema that cannot be brought into the structural form is not looked at as one.
bool IsConvertible(Value props) {
  for (const std::string_view field : {"id", "$schema", "$ref", "patternProperties", "dependencies",
                                       "additionalItems", "definitions"}) {
    const Value value = props[field];
    const bool is_empty = value.is_string()            ? value.AsString().empty()
                          : field == "additionalItems" ? value.is_null()
                                                       : value.empty();
    if (!is_empty) return false;
  }
  const Value keep = props[kPreserve];
  const bool lists_items = props["items"].is_array() && !props["items"].empty();
  if (lists_items || (keep.is_bool() && !keep.AsBool())) return false;
  for (const json::Member& property : props["properties"].members()) {
    if (!IsConvertible(property.value)) return false;
  }
  for (const std::string_view field : {"items", "additionalProperties", "not"}) {
    if (props[field].is_object() && !IsConvertible(props[field])) return false;
  }
  for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
    for (const Value& schema : props[list].elements()) {
      if (!IsConvertible(schema)) return false;
    }
  }
  return true;
}

}  // namespace

bool ValidateStructuralSchema(Value props, const FieldPath& path, FieldErrors& errors) {
  const std::size_t before = errors.size();
  if (props["nullable"].AsBool()) {
    errors.push_back(api::Forbidden(path.Child("nullable"), "nullable cannot be true at the root"));
  }
  FieldErrors structural;
  const bool convertible = IsConvertible(props);
  if (convertible) {
    Invariants invariants(structural);
    invariants.Check(props, Place::kRoot, path);
    invariants.CheckCompleteness(props, props, path, path);
    std::stable_sort(structural.begin(), structural.end(),
                     [](const auto& a, const auto& b) { return a.ToString() < b.ToString(); });
    if (structural.empty()) ValidateSchemaDefaults(props, path, structural);
  }
  errors.insert(errors.end(), structural.begin(), structural.end());
  Vocabulary(errors).Check(props, {.is_root = true}, path);
  if (errors.size() == before && !convertible) {
    errors.push_back(api::Invalid(path, "", "OpenAPIV3Schema 'schema' is not supported"));
  }
  return convertible && structural.empty();
}

}  // namespace portcullis::registry
