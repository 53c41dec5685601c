// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/patch/go_value.h"
#include "api/patch/list_elements.h"
#include "api/patch/typed.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/sorted.h"

namespace portcullis::api::patch {
namespace {

using json::Value;
using schema::Kind;
using schema::ListType;
using schema::Schema;

// Where a value stands. Written out only where something is wrong.
struct Place {
  const Place* outer = nullptr;
  std::string_view field;             // a member of the outer value, or …
  const PathElement* step = nullptr;  // … an element of it

  std::string Text() const {
    std::vector<const Place*> places;
    for (const Place* at = this; at->outer != nullptr; at = at->outer) places.push_back(at);
    std::string text;
    for (auto at = places.rbegin(); at != places.rend(); ++at) {
      text += (*at)->step != nullptr ? ToText({*(*at)->step}) : base::StrCat(".", (*at)->field);
    }
    return text;
  }
};

class Checker {
 public:
  explicit Checker(bool native, bool stored = false) : native_(native), stored_(stored) {}
  void Check(const Schema* schema, Value value, const Place& place);
  base::Status Outcome() const;

 private:
  void CheckList(const Schema& schema, Value value, const Place& place);
  void CheckMap(const Schema& schema, Value value, const Place& place);
  void CheckScalar(const Schema& schema, Value value, const Place& place);
  void CheckForeign(const Schema& schema, Value value, const Place& place);
  bool IsForeign(Value value) const {
    return native_ && value.is_object() && value.Has(kForeignField);
  }
  bool CanBeElement(const Schema& schema, Value element, std::size_t index, const Place& place);
  void Add(const Place& place, std::string_view text) {
    errors_.push_back(base::StrCat(place.Text(), ": ", text));
  }

  const bool native_;
  const bool stored_;  // a stored object: lists may have duplicates
  // Schemas around the value that preserve unknown fields: what is below may have some as well.
  int preserving_ = 0;
  std::vector<std::string> errors_;
};

base::Status Checker::Outcome() const {
  if (errors_.empty()) return base::OkStatus();
  if (errors_.size() == 1) return {base::Reason::kUnknown, errors_[0]};
  std::string text = "errors:";
  for (const std::string& error : errors_) text += "\n  " + error;
  return {base::Reason::kUnknown, text};
}

// A string of a format other than bytes may be any scalar.
Kind SchemaKindOf(const Schema& schema) {
  const bool formatted = !schema.format.empty() && schema.format != "byte";
  return schema.kind == Kind::kString && formatted ? Kind::kTime : schema.kind;
}

// What %#v of a reader's value prints: the Go literal of the value it holds.
std::string GoLiteral(Value value) {
  return base::StrCat("&value.valueUnstructured{Value:", GoLiteralText(value), "}");
}

// What %v of the value of a Go struct's field prints: no parent, the value, the number of its kind.
std::string ReflectedText(Value value) {
  const std::string_view kind = value.is_array()    ? "2"
                                : value.is_int()    ? "3"
                                : value.is_double() ? "5"
                                : value.is_string() ? "6"
                                                    : "8";
  return base::StrCat("&{<nil> <nil> ", GoValueText(value), " ", kind, "}");
}

void Checker::CheckScalar(const Schema& schema, Value value, const Place& place) {
  const auto got = [&] { return base::StrCat("&{", GoValueText(value), "}"); };
  switch (SchemaKindOf(schema)) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
      if (!value.is_string()) Add(place, "expected string, got " + GoLiteral(value));
      break;
    case Kind::kInteger:
    case Kind::kNumber:
      if (!value.is_number()) {
        Add(place, base::StrCat("expected numeric (int or float), got ", GoTypeName(value)));
      }
      break;
    case Kind::kBoolean:
      if (!value.is_bool()) Add(place, "expected boolean, got " + got());
      break;
    case Kind::kQuantity:
    case Kind::kTime:
    case Kind::kMicroTime:
      if (value.is_array() || value.is_object()) Add(place, "expected any scalar, got " + got());
      break;
    default:
      // Of the types that hold any JSON this one alone is a map in the schema.
      if (schema.go_type == "v1.FieldsV1" && !value.is_object()) {
        Add(place, "expected map, got " + (stored_ ? ReflectedText(value) : got()));
      }
      break;
  }
}

void Checker::CheckForeign(const Schema& schema, Value value, const Place& place) {
  const Value foreign = value[kForeignField];
  const std::string text = base::StrCat("&{", foreign["text"].AsString(), "}");
  switch (SchemaKindOf(schema)) {
    case Kind::kArray:
      return Add(place, "expected list, got " + text);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
      return Add(place, base::StrCat("expected string, got &value.valueUnstructured{Value:",
                                     foreign["literal"].AsString(), "}"));
    case Kind::kInteger:
    case Kind::kNumber:
      return Add(place,
                 base::StrCat("expected numeric (int or float), got ", foreign["type"].AsString()));
    case Kind::kBoolean:
      return Add(place, "expected boolean, got " + text);
    case Kind::kQuantity:
    case Kind::kTime:
    case Kind::kMicroTime:
      return Add(place, "expected any scalar, got " + text);
    default:
      return Add(place, "expected map, got " + text);
  }
}

// Whether the element of a keyed list or set has a name there; nothing more can be said of the list
// if one has none.
bool Checker::CanBeElement(const Schema& schema, Value element, std::size_t index,
                           const Place& place) {
  std::string problem;
  if (schema.list_type == ListType::kSet) {
    if (element.is_null()) {
      problem = "associative list without keys has an element that's an explicit null";
    } else if (element.is_object() && !IsForeign(element)) {
      problem = "associative list without keys has an element that's a map type";
    } else if (element.is_array()) {
      problem = "not supported: associative list with lists as elements";
    }
  } else if (element.is_null()) {
    problem = "associative list with keys may not have a null element";
  } else if (!element.is_object() || IsForeign(element)) {
    problem = "associative list with keys may not have non-map elements";
  } else if (!HasName(schema, element)) {
    const std::vector<std::string> keys(schema.list_map_keys.begin(), schema.list_map_keys.end());
    problem = base::StrCat("associative list with keys has an element that omits all key fields ",
                           base::GoQuotedList(keys),
                           " (and doesn't have default values for any key fields)");
  }
  if (problem.empty()) return true;
  Add(place, base::StrCat("element ", std::to_string(index), ": ", problem));
  return false;
}

void Checker::CheckList(const Schema& schema, Value value, const Place& place) {
  if (!value.is_array()) {
    Add(place, base::StrCat("expected list, got &{", GoValueText(value), "}"));
    return;
  }
  const bool keyed = schema.list_type == ListType::kMap || schema.list_type == ListType::kSet;
  std::map<PathElement, bool> seen;
  std::size_t index = 0;
  for (const Value& element : value.elements()) {
    PathElement step = PathElement::Index(index++);
    if (IsForeign(element) && schema.list_type == ListType::kSet) {
      static const PathElement kUndefined{PathElement::Kind::kIndex, "={{undefined}}"};
      CheckForeign(*schema.element, element, {&place, "", &kUndefined});
      continue;
    }
    if (keyed) {
      if (!CanBeElement(schema, element, index - 1, place)) return;
      step = StepOf(schema, element);
      if (!seen.emplace(step, true).second && !stored_) {
        Add(place, base::StrCat("duplicate entries for key ", ToText({step})));
      }
    }
    Check(schema.element, element, {&place, "", &step});
  }
}

void Checker::CheckMap(const Schema& schema, Value value, const Place& place) {
  if (!value.is_object()) {
    Add(place, base::StrCat("expected map, got &{", GoValueText(value), "}"));
    return;
  }
  for (const json::Member& member : value.members()) {
    const Place below{&place, member.name()};
    const schema::Field* field = schema.FindField(member.name(), member.hash);
    if (field != nullptr) {
      Check(field->schema, member.value, below);
    } else if (schema.kind == Kind::kMap) {
      Check(schema.element, member.value, below);
    } else if (preserving_ == 0 && !schema.fields.empty()) {
      Add(below, "field not declared in schema");
      return;  // Kubernetes looks at no other field of this map
    }
  }
}

void Checker::Check(const Schema* schema, Value value, const Place& place) {
  if (TakesAny(schema) || value.is_null()) return;
  // A type with a name, as that of metadata, does not inherit that unknown fields are preserved.
  const int outside = preserving_;
  if (!schema->definition.empty()) preserving_ = 0;
  if (schema->preserve_unknown_fields) ++preserving_;
  if (IsForeign(value)) {
    CheckForeign(*schema, value, place);
  } else if (schema->kind == Kind::kArray) {
    CheckList(*schema, value, place);
  } else if (schema->kind == Kind::kStruct || schema->kind == Kind::kMap) {
    CheckMap(*schema, value, place);
  } else {
    CheckScalar(*schema, value, place);
  }
  preserving_ = outside;
}

}  // namespace

base::Status CheckTyped(const Schema& schema, Value object) {
  const auto outcome = [&](Value value) {
    Checker checker(/*native=*/false);
    checker.Check(&schema, value, {});
    return checker.Outcome();
  };
  if (outcome(object).ok()) return {};
  // The first undeclared field of a map ends its check: Kubernetes has sorted the members of a patch
  // before it goes through them.
  json::Arena arena;
  return outcome(json::Sorted(arena, object));
}

base::Status CheckTypedStored(const Schema& schema, Value object) {
  Checker checker(/*native=*/false, /*stored=*/true);
  checker.Check(&schema, object, {});
  return checker.Outcome();
}

base::Status CheckTypedNative(const Schema& schema, Value object) {
  Checker checker(/*native=*/true);
  checker.Check(&schema, object, {});
  return checker.Outcome();
}

namespace {

// Whether the managedFields of a template have a field set that is no map. Go keeps any JSON there, but
// server-side apply cannot read such an object, and none of its fields has an owner.
bool IsUnreadable(Value template_metadata) {
  for (const Value& entry : template_metadata["managedFields"].elements()) {
    const Value fields = entry["fieldsV1"];
    if (!fields.is_null() && !fields.is_object()) return true;
  }
  return false;
}

bool HasUnreadableClaim(Value pod_spec) {
  const auto volumes = pod_spec["volumes"].elements();
  return std::any_of(volumes.begin(), volumes.end(), [](const Value& volume) {
    return IsUnreadable(volume["ephemeral"]["volumeClaimTemplate"]["metadata"]);
  });
}

bool HasUnreadable(Value object) {
  const Value spec = object["spec"];
  const auto claims = spec["volumeClaimTemplates"].elements();
  const Value templates[] = {spec["template"], object["template"], spec["jobTemplate"],
                             spec["jobTemplate"]["spec"]["template"]};
  return HasUnreadableClaim(spec) ||
         std::any_of(std::begin(templates), std::end(templates),
                     [](const Value& each) {
                       return IsUnreadable(each["metadata"]) || HasUnreadableClaim(each["spec"]);
                     }) ||
         std::any_of(claims.begin(), claims.end(),
                     [](const Value& claim) { return IsUnreadable(claim["metadata"]); });
}

// Whether an element of a keyed list has none of its keys. Of built-in kinds only those of these lists may be
// stored so: of others a key is always there, or has a default.
bool HasNameless(const Schema& schema, Value object) {
  struct List {
    std::string_view outer;
    std::string_view name;
    std::string_view key;
  };
  static constexpr List kLists[] = {{"", "secrets", "name"}, {"status", "conditions", "type"}};
  for (const List& row : kLists) {
    const Value list = row.outer.empty() ? object[row.name] : object[row.outer][row.name];
    for (const Value& element : list.elements()) {
      if (element.Has(row.key)) continue;
      const schema::Schema* type = row.outer.empty()
                                       ? schema::FindSchema(schema, {row.name})
                                       : schema::FindSchema(schema, {row.outer, row.name});
      return type != nullptr && type->list_type == schema::ListType::kMap &&
             !HasName(*type, element);
    }
  }
  return false;
}

}  // namespace

bool Fits(const Schema& schema, Value object) {
  if (schema.definition.empty()) return CheckTypedStored(schema, object).ok();
  return !HasUnreadable(object) && !HasNameless(schema, object);
}

Value ForeignValue(json::Arena& arena, std::string_view go_type, std::string_view text,
                   std::string_view literal) {
  const auto copy = [&](std::string_view part) { return json::String(arena, part); };
  return json::MakeObject(arena,
                          {{kForeignField, json::MakeObject(arena, {{"type", copy(go_type)},
                                                                    {"text", copy(text)},
                                                                    {"literal", copy(literal)}})}});
}

}  // namespace portcullis::api::patch
