#include "registry/validation/structural_schema.h"

#include <re2/re2.h>

#include <algorithm>

#include "api/schema/schema.h"
#include "api/schema/validate.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

using json::Value;

// Where a schema stands; decides what the message about a missing type says.
enum class Place { kRoot, kField, kItems };

class Structure {
 public:
  explicit Structure(FieldErrors& errors) : errors_(errors) {}

  void Check(Value props, const FieldPath& path, Place place);

 private:
  void CheckType(Value props, const FieldPath& path, Place place);
  void CheckForbidden(Value props, const FieldPath& path);
  void CheckExtensions(Value props, const FieldPath& path);
  void CheckNested(Value props, const FieldPath& path);
  void CheckDefault(Value props, const FieldPath& path);
  void CheckChildren(Value props, const FieldPath& path);
  void CheckLimits(Value props, const FieldPath& path);

  FieldErrors& errors_;
};

void Structure::CheckType(Value props, const FieldPath& path, Place place) {
  const std::string_view type = props["type"].AsString();
  const bool open = props["x-kubernetes-preserve-unknown-fields"].AsBool() ||
                    props["x-kubernetes-int-or-string"].AsBool();
  const FieldPath at = path.Child("type");
  if (place == Place::kRoot) {
    if (type.empty()) {
      errors_.push_back(api::Required(at, "must not be empty at the root"));
    } else if (type != "object") {
      errors_.push_back(api::Invalid(at, type, "must be object at the root"));
    }
  } else if (type.empty() && !open) {
    errors_.push_back(api::Required(at, place == Place::kItems
                                            ? "must not be empty for specified array items"
                                            : "must not be empty for specified object fields"));
  }
  constexpr std::string_view kTypes[] = {"string", "number", "integer", "boolean",
                                         "array",  "object", ""};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
    errors_.push_back(
        api::NotSupported(at, type, {"array", "boolean", "integer", "number", "object", "string"}));
  }
  if (props["x-kubernetes-int-or-string"].AsBool() && !type.empty()) {
    errors_.push_back(api::Forbidden(at, "must be empty if x-kubernetes-int-or-string is true"));
  }
}

void Structure::CheckForbidden(Value props, const FieldPath& path) {
  if (!props["$ref"].AsString().empty()) {
    errors_.push_back(api::Forbidden(path.Child("$ref"), "$ref is not supported"));
  }
  if (props["uniqueItems"].AsBool()) {
    errors_.push_back(api::Forbidden(
        path.Child("uniqueItems"),
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
  }
  const Value additional = props["additionalProperties"];
  if (additional.is_bool() && !additional.AsBool()) {
    errors_.push_back(api::Forbidden(path.Child("additionalProperties"),
                                     "additionalProperties cannot be set to false"));
  }
  if (!props["properties"].empty() && !additional.is_null() &&
      (additional.is_object() || additional.AsBool())) {
    errors_.push_back(api::Forbidden(path.Child("additionalProperties"),
                                     "additionalProperties and properties are mutual exclusive"));
  }
  if (props["items"].is_array()) {
    errors_.push_back(
        api::Forbidden(path.Child("items"), "items must be a schema object and not an array"));
  }
  for (const std::string_view field :
       {"definitions", "dependencies", "patternProperties", "additionalItems"}) {
    if (!props[field].is_null()) {
      errors_.push_back(
          api::Forbidden(path.Child(field), base::StrCat(field, " is not supported")));
    }
  }
  for (const std::string_view field : {"id", "$schema"}) {
    if (!props[field].AsString().empty()) {
      errors_.push_back(
          api::Forbidden(path.Child(field), base::StrCat(field, " is not supported")));
    }
  }
}

void Structure::CheckExtensions(Value props, const FieldPath& path) {
  const std::string_view type = props["type"].AsString();
  if (const Value keep = props["x-kubernetes-preserve-unknown-fields"];
      keep.is_bool() && !keep.AsBool()) {
    errors_.push_back(api::Invalid(path.Child("x-kubernetes-preserve-unknown-fields"), false,
                                   "must be true or undefined"));
  }
  if (props["x-kubernetes-embedded-resource"].AsBool() && type != "object") {
    if (type.empty()) {
      errors_.push_back(api::Required(path.Child("type"),
                                      "must be object if x-kubernetes-embedded-resource is true"));
    } else {
      errors_.push_back(api::Invalid(path.Child("type"), type,
                                     "must be object if x-kubernetes-embedded-resource is true"));
    }
  }
  const Value list_type = props["x-kubernetes-list-type"];
  const Value keys = props["x-kubernetes-list-map-keys"];
  if (!list_type.is_null()) {
    if (type != "array") {
      errors_.push_back(type.empty()
                            ? api::Required(path.Child("type"),
                                            "must be array if x-kubernetes-list-type is specified")
                            : api::Invalid(path.Child("type"), type,
                                           "must be array if x-kubernetes-list-type is specified"));
    }
    CheckOneOf(list_type, path.Child("x-kubernetes-list-type"), {"atomic", "set", "map"}, errors_);
  }
  if (list_type.AsString() == "map") {
    if (keys.empty()) {
      errors_.push_back(api::Required(path.Child("x-kubernetes-list-map-keys"),
                                      "must not be empty if x-kubernetes-list-type is map"));
    }
    for (const Value& key : keys.elements()) {
      const Value property = props["items"]["properties"][key.AsString()];
      if (property.is_null()) {
        errors_.push_back(api::Invalid(path.Child("x-kubernetes-list-map-keys"), key,
                                       "entries must all be names of item properties"));
        continue;
      }
      bool required = !property["default"].is_null();
      for (const Value& name : props["items"]["required"].elements()) required |= name == key;
      if (!required) {
        errors_.push_back(
            api::Required(path.Child("items", "properties").Key(key.AsString()).Child("default"),
                          "this property is in x-kubernetes-list-map-keys, so it must have a "
                          "default or be a required property"));
      }
    }
  } else if (!keys.empty()) {
    errors_.push_back(list_type.is_null()
                          ? api::Required(path.Child("x-kubernetes-list-type"),
                                          "must be map if x-kubernetes-list-map-keys is non-empty")
                          : api::Invalid(path.Child("x-kubernetes-list-type"), list_type,
                                         "must be map if x-kubernetes-list-map-keys is non-empty"));
  }
  if (const Value map_type = props["x-kubernetes-map-type"]; !map_type.is_null()) {
    if (type != "object") {
      errors_.push_back(type.empty()
                            ? api::Required(path.Child("type"),
                                            "must be object if x-kubernetes-map-type is specified")
                            : api::Invalid(path.Child("type"), type,
                                           "must be object if x-kubernetes-map-type is specified"));
    }
    CheckOneOf(map_type, path.Child("x-kubernetes-map-type"), {"atomic", "granular"}, errors_);
  }
}

// Inside allOf, anyOf, oneOf and not only value validations may stand.
void Structure::CheckNested(Value props, const FieldPath& path) {
  const auto empty = [&](Value schema, const FieldPath& at) {
    for (const std::string_view field :
         {"type", "title", "description", "default", "nullable", "additionalProperties",
          "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
          "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
          "x-kubernetes-map-type"}) {
      const Value value = schema[field];
      const bool int_or_string = field == "type" && props["x-kubernetes-int-or-string"].AsBool();
      const bool set = value.is_bool()
                           ? value.AsBool()
                           : !value.is_null() && !(value.is_string() && value.AsString().empty());
      if (set && !int_or_string) {
        errors_.push_back(api::Forbidden(at.Child(field), "must be empty to be structural"));
      }
    }
  };
  for (const std::string_view list : {"allOf", "anyOf", "oneOf"}) {
    std::size_t index = 0;
    for (const Value& schema : props[list].elements())
      empty(schema, path.Child(list).Index(index++));
  }
  if (props["not"].is_object()) empty(props["not"], path.Child("not"));
}

void Structure::CheckDefault(Value props, const FieldPath& path) {
  const Value* value = props.Find("default");
  if (value == nullptr || value->is_null()) return;
  const FieldPath at = path.Child("default");
  api::schema::ValidateValue({props}, *value, at, errors_);
}

void Structure::CheckLimits(Value props, const FieldPath& path) {
  if (const std::string_view pattern = props["pattern"].AsString(); !pattern.empty()) {
    const RE2 regex(re2::StringPiece(pattern.data(), pattern.size()), RE2::Quiet);
    if (!regex.ok()) {
      errors_.push_back(
          api::Invalid(path.Child("pattern"), pattern,
                       base::StrCat("must be a valid regular expression, but isn't: error parsing "
                                    "regexp: ",
                                    regex.error())));
    }
  }
}

void Structure::CheckChildren(Value props, const FieldPath& path) {
  for (const json::Member* property : SortedMembers(props["properties"])) {
    Check(property->value, path.Child("properties").Key(property->name()), Place::kField);
  }
  if (props["additionalProperties"].is_object()) {
    Check(props["additionalProperties"], path.Child("additionalProperties"), Place::kField);
  }
  if (props["items"].is_object()) {
    Check(props["items"], path.Child("items"), Place::kItems);
  } else if (props["type"].AsString() == "array" && !props["items"].is_array()) {
    errors_.push_back(api::Required(path.Child("items"), "must be specified"));
  }
}

void Structure::Check(Value props, const FieldPath& path, Place place) {
  CheckForbidden(props, path);
  CheckLimits(props, path);
  CheckExtensions(props, path);
  CheckType(props, path, place);
  CheckNested(props, path);
  CheckChildren(props, path);
  CheckDefault(props, path);
}

}  // namespace

void ValidateStructuralSchema(Value props, const FieldPath& path, FieldErrors& errors) {
  Structure(errors).Check(props, path, Place::kRoot);
}

}  // namespace portcullis::registry
