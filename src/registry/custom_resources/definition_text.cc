// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/definition_text.h"

#include <algorithm>

#include "base/strings.h"
#include "json/edit.h"
#include "json/sorted.h"
#include "registry/validation/checks.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

using json::Value;

enum class Shape {
  kText,     // string
  kFlag,     // bool
  kAny,      // pointer, interface or list: null if absent
  kSchema,   // *JSONSchemaProps
  kSchemas,  // []JSONSchemaProps
  kNamed,    // map[string]JSONSchemaProps
  kItems,    // *JSONSchemaPropsOrArray
  kOrBool,   // *JSONSchemaPropsOrBool
  kDepends,  // map[string]JSONSchemaPropsOrStringArray
  kDocs,     // *ExternalDocumentation
  kRules,    // []ValidationRule
};

struct Row {
  std::string_view go_name;
  std::string_view name;
  Shape shape;
  bool at_root;  // may stand at the root of a schema with a status subresource
};

// In the order of apiextensions.JSONSchemaProps.
constexpr Row kFields[] = {
    {"ID", "id", Shape::kText, false},
    {"Schema", "$schema", Shape::kText, false},
    {"Ref", "$ref", Shape::kAny, false},
    {"Description", "description", Shape::kText, true},
    {"Type", "type", Shape::kText, true},
    {"Nullable", "nullable", Shape::kFlag, false},
    {"Format", "format", Shape::kText, true},
    {"Title", "title", Shape::kText, true},
    {"Default", "default", Shape::kAny, false},
    {"Maximum", "maximum", Shape::kAny, true},
    {"ExclusiveMaximum", "exclusiveMaximum", Shape::kFlag, true},
    {"Minimum", "minimum", Shape::kAny, true},
    {"ExclusiveMinimum", "exclusiveMinimum", Shape::kFlag, true},
    {"MaxLength", "maxLength", Shape::kAny, true},
    {"MinLength", "minLength", Shape::kAny, true},
    {"Pattern", "pattern", Shape::kText, true},
    {"MaxItems", "maxItems", Shape::kAny, true},
    {"MinItems", "minItems", Shape::kAny, true},
    {"UniqueItems", "uniqueItems", Shape::kFlag, true},
    {"MultipleOf", "multipleOf", Shape::kAny, true},
    {"Enum", "enum", Shape::kAny, false},
    {"MaxProperties", "maxProperties", Shape::kAny, false},
    {"MinProperties", "minProperties", Shape::kAny, false},
    {"Required", "required", Shape::kAny, true},
    {"Items", "items", Shape::kItems, true},
    {"AllOf", "allOf", Shape::kSchemas, false},
    {"OneOf", "oneOf", Shape::kSchemas, false},
    {"AnyOf", "anyOf", Shape::kSchemas, false},
    {"Not", "not", Shape::kSchema, false},
    {"Properties", "properties", Shape::kNamed, true},
    {"AdditionalProperties", "additionalProperties", Shape::kOrBool, false},
    {"PatternProperties", "patternProperties", Shape::kNamed, false},
    {"Dependencies", "dependencies", Shape::kDepends, false},
    {"AdditionalItems", "additionalItems", Shape::kOrBool, false},
    {"Definitions", "definitions", Shape::kNamed, false},
    {"ExternalDocs", "externalDocs", Shape::kDocs, true},
    {"Example", "example", Shape::kAny, true},
    {"XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Shape::kAny, true},
    {"XEmbeddedResource", "x-kubernetes-embedded-resource", Shape::kFlag, false},
    {"XIntOrString", "x-kubernetes-int-or-string", Shape::kFlag, false},
    {"XListMapKeys", "x-kubernetes-list-map-keys", Shape::kAny, false},
    {"XListType", "x-kubernetes-list-type", Shape::kAny, false},
    {"XMapType", "x-kubernetes-map-type", Shape::kAny, false},
    {"XValidations", "x-kubernetes-validations", Shape::kRules, true},
};

std::string FlagText(bool value) { return value ? "true" : "false"; }

std::string SchemaOrNull(Value props) { return props.is_object() ? SchemaText(props) : "null"; }

std::string SchemasText(Value list) {
  if (!list.is_array()) return "null";
  std::string out = "[";
  for (const Value& props : list.elements()) {
    if (out.size() > 1) out += ",";
    out += SchemaText(props);
  }
  return out + "]";
}

template <typename Text>
std::string MapText(Value map, const Text& text) {
  if (!map.is_object()) return "null";
  std::string out = "{";
  for (const json::Member* member : json::MembersByName(map)) {
    if (out.size() > 1) out += ",";
    out += base::StrCat(Quoted(member->name()), ":", text(member->value));
  }
  return out + "}";
}

std::string RulesText(Value rules) {
  if (!rules.is_array()) return "null";
  std::string out = "[";
  for (const Value& rule : rules.elements()) {
    if (out.size() > 1) out += ",";
    out += RuleText(rule);
  }
  return out + "]";
}

std::string FieldText(Shape shape, Value value) {
  switch (shape) {
    case Shape::kText:
      return Quoted(value.AsString());
    case Shape::kFlag:
      return FlagText(value.AsBool());
    case Shape::kAny:
      return Json(value);
    case Shape::kSchema:
      return SchemaOrNull(value);
    case Shape::kSchemas:
      return SchemasText(value);
    case Shape::kNamed:
      return MapText(value, SchemaText);
    case Shape::kItems:
      return value.is_null() ? "null" : ItemsText(value);
    case Shape::kOrBool:
      if (value.is_null()) return "null";
      return StructJson({{"Allows", FlagText(value.is_object() || value.AsBool())},
                         {"Schema", SchemaOrNull(value)}});
    case Shape::kDepends:
      return MapText(value, [](Value one) {
        return StructJson({{"Schema", SchemaOrNull(one)},
                           {"Property", one.is_array() ? Json(one) : std::string("null")}});
      });
    case Shape::kDocs:
      if (value.is_null()) return "null";
      return StructJson({{"Description", Quoted(value["description"].AsString())},
                         {"URL", Quoted(value["url"].AsString())}});
    case Shape::kRules:
      break;
  }
  return RulesText(value);
}

bool IsZero(Shape shape, Value value) {
  if (shape == Shape::kText) return value.AsString().empty();
  if (shape == Shape::kFlag) return !value.AsBool();
  return value.is_null();
}

}  // namespace

std::string SchemaText(Value props) {
  std::string out = "{";
  for (const Row& row : kFields) {
    if (out.size() > 1) out += ",";
    out += base::StrCat("\"", row.go_name, "\":", FieldText(row.shape, props[row.name]));
  }
  return out + "}";
}

std::string ItemsText(Value items) {
  return StructJson({{"Schema", SchemaOrNull(items)}, {"JSONSchemas", SchemasText(items)}});
}

Value WithSentForms(json::Arena& arena, Value value, Value sent) {
  if (value.is_array() && sent.is_array() && value.size() == sent.size()) {
    std::size_t index = 0;
    return json::EditElements(
        arena, value, [&](Value each) { return WithSentForms(arena, each, sent[index++]); });
  }
  if (!value.is_object()) return value;
  for (const json::Member& member : sent.members()) {
    const Value given = member.value;
    const Value* kept = value.Find(member.name());
    if (kept != nullptr) {
      const Value inner = WithSentForms(arena, *kept, given);
      if (!inner.IsSameAs(*kept)) value = json::With(arena, value, member.name(), inner);
    } else if (IsSentEmpty(given) ||
               (member.name() == "items" && !given.is_null() && !given.is_object())) {
      value = json::With(arena, value, member.name(), given);
    }
  }
  return value;
}

std::string RuleText(Value rule) {
  const auto text = [&](std::string_view name) { return Quoted(rule[name].AsString()); };
  return StructJson({{"Rule", text("rule")},
                     {"Message", text("message")},
                     {"MessageExpression", text("messageExpression")},
                     {"Reason", Json(rule["reason"])},
                     {"FieldPath", text("fieldPath")},
                     {"OptionalOldSelf", Json(rule["optionalOldSelf"])}});
}

std::string_view FirstFieldNotForRoot(Value props) {
  for (const Row& row : kFields) {
    const bool wrong = !row.at_root || (row.name == "type" && props["type"].AsString() != "object");
    if (wrong && !IsZero(row.shape, props[row.name])) return row.go_name;
  }
  return {};
}

std::string FieldsForRoot() {
  std::string out = "[";
  for (const Row& row : kFields) {
    if (!row.at_root) continue;
    if (out.size() > 1) out += " ";
    out += row.go_name;
  }
  return out + "]";
}

}  // namespace portcullis::registry
