// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/schema_defaults.h"

#include <optional>

#include "api/schema/schema.h"
#include "api/schema/validate.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/sorted.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/rule_set.h"
#include "registry/custom_resources/embedded_objects.h"
#include "registry/custom_resources/schema_rules.h"

namespace portcullis::registry {
namespace {

using json::Value;

constexpr std::string_view kRules = "x-kubernetes-validations";

bool HasRules(Value props) {
  if (!props[kRules].empty()) return true;
  for (const std::string_view field : {"items", "additionalProperties"}) {
    if (props[field].is_object() && HasRules(props[field])) return true;
  }
  for (const json::Member& property : props["properties"].members()) {
    if (HasRules(property.value)) return true;
  }
  return false;
}

bool HasUnknown(Value value, Value props, bool is_resource) {
  for (const Value& element : value.elements()) {
    if (HasUnknown(element, props["items"], props["items"][kEmbedded].AsBool())) return true;
  }
  const bool open = props["x-kubernetes-preserve-unknown-fields"].AsBool();
  const Value additional = props["additionalProperties"];
  for (const json::Member& member : value.members()) {
    if (is_resource && IsMetaField(member.name())) continue;
    const Value* known = props["properties"].Find(member.name());
    if (known == nullptr && additional.is_object()) known = &additional;
    if (known == nullptr) {
      if (open || additional.AsBool()) continue;
      return true;
    }
    if (HasUnknown(member.value, *known, (*known)[kEmbedded].AsBool())) return true;
  }
  return false;
}

// The schema that defaults are checked by: what is an integer or a string may be anything.
Value OfAnyType(json::Arena& arena, Value props) {
  if (!props.is_object()) return props;
  props = json::Without(arena, props, "x-kubernetes-int-or-string");
  for (const std::string_view field : {"items", "additionalProperties"}) {
    if (!props[field].is_object()) continue;
    props = json::With(arena, props, field, OfAnyType(arena, props[field]));
  }
  if (!props.Has("properties")) return props;
  const auto edit = [&](const json::Member& each) { return OfAnyType(arena, each.value); };
  return json::With(arena, props, "properties",
                    json::EditMembers(arena, props["properties"], edit));
}

class Defaults {
 public:
  explicit Defaults(FieldErrors& errors) : errors_(errors), budget_(kube_cel::kPolicyBudget) {}

  // A place below the resource that it belongs to.
  struct Place {
    const Place* around = nullptr;  // null: the resource itself
    std::string_view name;          // "" for an element of a list
    bool inside_meta = false;
  };

  void Check(Value props, const Place& place, const FieldPath& path) {
    if (spent_) return;
    const Place root;
    const Place& here = props[kEmbedded].AsBool() ? root : place;
    const bool is_resource = here.around == nullptr;
    if (const Value value = props["default"]; !value.is_null()) {
      CheckDefault(props, value, here, path.Child("default"));
    }
    if (props["items"].is_object()) {
      Check(props["items"], {&here, "", here.inside_meta}, path.Child("items"));
    }
    for (const json::Member* property : json::MembersByName(props["properties"])) {
      const bool meta = here.inside_meta || (is_resource && IsMetaField(property->name()));
      Check(property->value, {&here, property->name(), meta},
            path.Child("properties").Key(property->name()));
    }
  }

 private:
  void CheckDefault(Value props, Value value, const Place& place, const FieldPath& path) {
    const bool is_resource = place.around == nullptr;
    if (place.inside_meta) {
      if (!CheckInsideMeta(value, place, path)) return;
    } else {
      if (HasUnknown(value, props, is_resource)) {
        errors_.push_back(api::Invalid(path, value, "must not have unknown fields"));
      }
      const std::size_t before = errors_.size();
      if (is_resource && value.is_object() && !props[kEmbedded].AsBool()) {
        CheckEmbeddedObject(value, path, errors_);
      }
      CheckEmbeddedObjects(props, value, path, errors_);
      if (errors_.size() != before) return;
    }
    const std::size_t before = errors_.size();
    json::Arena arena;
    api::schema::ValidateValue({OfAnyType(arena, props)}, value, path, errors_);
    if (errors_.size() != before || !HasRules(props)) return;
    const kube_cel::RuleSet rules(props, is_resource);
    spent_ = !EvaluateDefaultRules(arena, rules.root(), value, path, budget_, errors_);
  }

  // A part of metadata is right if metadata of nothing else is.
  bool CheckInsideMeta(Value value, const Place& place, const FieldPath& path) {
    json::Arena arena;
    Value object = value;
    for (const Place* at = &place; at->around != nullptr; at = at->around) {
      if (at->name.empty()) {
        json::ArrayBuilder list(arena);
        list.Add(object);
        object = list.Build();
      } else {
        json::ObjectBuilder parent(arena);
        parent.Add(at->name, object);
        object = parent.Build();
      }
    }
    if (!object.Has("kind")) {
      object = json::SetPath(arena, object, {"kind"}, json::String(arena, "Validation"));
    }
    if (!object.Has("apiVersion")) {
      object = json::SetPath(arena, object, {"apiVersion"}, json::String(arena, "validation/v1"));
    }
    FieldErrors wrong;
    CheckEmbeddedObject(object, FieldPath(), wrong);
    if (wrong.empty()) return true;
    errors_.push_back(api::Invalid(
        path, value, base::StrCat("must result in valid metadata: ", api::AggregateText(wrong))));
    return false;
  }

  FieldErrors& errors_;
  kube_cel::Budget budget_;
  bool spent_ = false;
};

}  // namespace

void ValidateSchemaDefaults(Value props, const FieldPath& path, FieldErrors& errors) {
  Defaults(errors).Check(props, {}, path);
}

}  // namespace portcullis::registry
