// SPDX-License-Identifier: Apache-2.0

#include "api/schema/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "api/schema/patterns.h"
#include "api/schema/schema.h"
#include "api/schema/text_formats.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/value_set.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

std::string_view TypeName(Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return "null";
    case json::Type::kBool:
      return "boolean";
    case json::Type::kInt:
      return "integer";
    case json::Type::kDouble:
      return "number";
    case json::Type::kString:
      return "string";
    case json::Type::kArray:
      return "array";
    case json::Type::kObject:
      break;
  }
  return "object";
}

bool IsWhole(Value value) {
  return value.is_int() || (value.is_double() && std::trunc(value.AsDouble()) == value.AsDouble());
}

bool HasType(Value value, std::string_view type) {
  if (type == "integer") return IsWhole(value);
  if (type == "number") return value.is_number();
  return TypeName(value) == type;
}

class Validator {
 public:
  Validator(FieldPath root, const Patterns& patterns, FieldErrors& errors)
      : root_(std::move(root)), patterns_(patterns), errors_(errors) {}

  // `old` is what the value replaces, or null pointer: what has not changed is not checked again.
  void Validate(Value props, Value value, const std::string& name, const Value* old = nullptr);

 private:
  void CheckType(Value props, Value value, const std::string& name, bool& matches);
  void CheckString(Value props, Value value, const std::string& name);
  void CheckNumber(Value props, Value value, const std::string& name);
  void CheckArray(Value props, Value value, const std::string& name, const Value* old);
  void CheckObject(Value props, Value value, const std::string& name, const Value* old);
  void CheckEnum(Value props, Value value, const std::string& name);
  void CheckCombinations(Value props, Value value, const std::string& name);

  // How many errors the value has against another schema.
  bool Fits(Value props, Value value, const std::string& name) const {
    FieldErrors errors;
    Validator(root_, patterns_, errors).Validate(props, value, name);
    return errors.empty();
  }
  FieldPath At(const std::string& name) const {
    if (name.empty()) return root_;
    if (root_.empty()) return FieldPath(name);
    return root_.Child(name);
  }
  void AddInvalid(const std::string& name, BadValue value, std::string_view text) {
    errors_.push_back(Invalid(At(name), std::move(value), base::StrCat(name, " in body ", text)));
  }

  FieldPath root_;
  const Patterns& patterns_;
  FieldErrors& errors_;
};

std::string Number(Value value) {
  return value.is_int() ? std::to_string(value.AsInt()) : json::ToString(value);
}

void Validator::CheckType(Value props, Value value, const std::string& name, bool& matches) {
  const std::string_view type = props["type"].AsString();
  matches = true;
  if (props["x-kubernetes-int-or-string"].AsBool()) {
    if (!value.is_string() && !IsWhole(value)) {
      matches = false;
      errors_.push_back(TypeInvalid(At(name), TypeName(value),
                                    base::StrCat(name, " in body must be of type integer,string: ",
                                                 base::GoQuote(TypeName(value)))));
    }
    return;
  }
  if (type.empty() || HasType(value, type)) return;
  matches = false;
  errors_.push_back(TypeInvalid(
      At(name), TypeName(value),
      base::StrCat(name, " in body must be of type ", type, ": ", base::GoQuote(TypeName(value)))));
}

void Validator::CheckString(Value props, Value value, const std::string& name) {
  const std::string_view text = value.AsString();
  const auto length = static_cast<std::int64_t>(base::RuneCount(text));
  if (const Value* most = props.Find("maxLength"); most != nullptr && length > most->AsInt()) {
    errors_.push_back(TooLong(At(name), static_cast<int>(most->AsInt())));
  }
  if (const Value* least = props.Find("minLength"); least != nullptr && length < least->AsInt()) {
    AddInvalid(name, value, base::StrCat("should be at least ", Number(*least), " chars long"));
  }
  if (const std::string_view pattern = props["pattern"].AsString(); !pattern.empty()) {
    if (!patterns_.Occurs(pattern, text)) {
      AddInvalid(name, value, base::StrCat("should match '", pattern, "'"));
    }
  }
  if (const std::string_view format = props["format"].AsString();
      !format.empty() && !MatchesFormat(format, text)) {
    errors_.push_back(TypeInvalid(
        At(name), value,
        base::StrCat(name, " in body must be of type ", format, ": ", base::GoQuote(text))));
  }
}

void Validator::CheckNumber(Value props, Value value, const std::string& name) {
  const double number = value.AsDouble();
  if (const Value* step = props.Find("multipleOf"); step != nullptr && step->AsDouble() > 0) {
    const double quotient = number / step->AsDouble();
    if (std::trunc(quotient) != quotient) {
      AddInvalid(name, value, base::StrCat("should be a multiple of ", Number(*step)));
    }
  }
  if (const Value* most = props.Find("maximum")) {
    const bool exclusive = props["exclusiveMaximum"].AsBool();
    if (number > most->AsDouble() || (exclusive && number == most->AsDouble())) {
      AddInvalid(
          name, value,
          base::StrCat(exclusive ? "should be less than " : "should be less than or equal to ",
                       Number(*most)));
    }
  }
  if (const Value* least = props.Find("minimum")) {
    const bool exclusive = props["exclusiveMinimum"].AsBool();
    if (number < least->AsDouble() || (exclusive && number == least->AsDouble())) {
      AddInvalid(name, value,
                 base::StrCat(
                     exclusive ? "should be greater than " : "should be greater than or equal to ",
                     Number(*least)));
    }
  }
  const std::string_view format = props["format"].AsString();
  if (format == "int32" && (number > 2147483647.0 || number < -2147483648.0)) {
    AddInvalid(name, value, "must be of type int32: \"" + Number(value) + "\"");
  }
}

void Validator::CheckArray(Value props, Value value, const std::string& name, const Value* old) {
  if (const Value items = props["items"]; items.is_object()) {
    std::size_t index = 0;
    const Counterparts before(props, old);
    for (const Value& element : value.elements()) {
      Validate(items, element, base::StrCat(name, "[", std::to_string(index++), "]"),
               before.Of(element));
    }
  }
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* least = props.Find("minItems"); least != nullptr && size < least->AsInt()) {
    AddInvalid(name, size, base::StrCat("should have at least ", Number(*least), " items"));
  }
  if (const Value* most = props.Find("maxItems"); most != nullptr && size > most->AsInt()) {
    errors_.push_back(TooMany(At(name), static_cast<int>(size), static_cast<int>(most->AsInt())));
  }
  if (props["uniqueItems"].AsBool()) {
    json::ValueSet seen;
    const auto items = value.elements();
    const bool unique = std::all_of(items.begin(), items.end(),
                                    [&](const Value& item) { return seen.Insert(item); });
    if (!unique) AddInvalid(name, "", "shouldn't contain duplicates");
  }
}

void Validator::CheckObject(Value props, Value value, const std::string& name, const Value* old) {
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* least = props.Find("minProperties"); least && size < least->AsInt()) {
    AddInvalid(name, size, base::StrCat("should have at least ", Number(*least), " properties"));
  }
  if (const Value* most = props.Find("maxProperties"); most && size > most->AsInt()) {
    errors_.push_back(TooMany(At(name), static_cast<int>(size), static_cast<int>(most->AsInt())));
  }
  const auto below = [&](std::string_view member) {
    return name.empty() ? std::string(member) : base::StrCat(name, ".", member);
  };
  for (const Value& required : props["required"].elements()) {
    if (!value.Has(required.AsString())) {
      errors_.push_back(Required(At(below(required.AsString())), ""));
    }
  }
  const Value properties = props["properties"];
  const Value additional = props["additionalProperties"];
  std::vector<const json::Member*> members;
  for (const json::Member& member : value.members()) members.push_back(&member);
  std::sort(members.begin(), members.end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
  for (const json::Member* member : members) {
    // Versions are converted before they are compared: what they say of themselves proves nothing.
    const bool has_type = name.empty() && root_.empty() &&
                          (member->name() == "apiVersion" || member->name() == "kind");
    const Value* before = old != nullptr && !has_type ? old->Find(member->name()) : nullptr;
    if (const Value* property = properties.Find(member->name())) {
      Validate(*property, member->value, below(member->name()), before);
    } else if (additional.is_object()) {
      Validate(additional, member->value, below(member->name()), before);
    }
  }
}

void Validator::CheckEnum(Value props, Value value, const std::string& name) {
  const Value allowed = props["enum"];
  if (!allowed.is_array()) return;
  std::vector<std::string> texts;
  for (const Value& one : allowed.elements()) {
    if (one == value ||
        (one.is_number() && value.is_number() && one.AsDouble() == value.AsDouble())) {
      return;
    }
    texts.push_back(one.is_string() ? std::string(one.AsString()) : json::ToString(one));
  }
  std::vector<std::string_view> views(texts.begin(), texts.end());
  errors_.push_back(NotSupported(At(name), value, views));
}

void Validator::CheckCombinations(Value props, Value value, const std::string& name) {
  // These errors have no field of their own: only the text names the place.
  const auto must = [&](std::string_view text) {
    errors_.push_back(Invalid(root_, "", base::StrCat(base::GoQuote(name), " must ", text)));
  };
  const auto fitting = [&](Value list) {
    return std::count_if(list.elements().begin(), list.elements().end(),
                         [&](const Value& one) { return Fits(one, value, name); });
  };
  // What is wrong with the alternative that fits best.
  const auto best_failure = [&](Value list) {
    FieldErrors best;
    for (const Value& one : list.elements()) {
      FieldErrors errors;
      Validator(root_, patterns_, errors).Validate(one, value, name);
      if (best.empty() || errors.size() < best.size()) best = std::move(errors);
    }
    errors_.insert(errors_.end(), best.begin(), best.end());
  };
  if (const Value any = props["anyOf"]; !any.empty() && fitting(any) == 0) {
    must("validate at least one schema (anyOf)");
    best_failure(any);
  }
  if (const Value one = props["oneOf"]; !one.empty()) {
    const auto count = fitting(one);
    if (count == 0) {
      must("validate one and only one schema (oneOf). Found none valid");
      best_failure(one);
    }
    if (count > 1) {
      must(base::StrCat("validate one and only one schema (oneOf). Found ", std::to_string(count),
                        " valid alternatives"));
    }
  }
  if (const Value all = props["allOf"]; all.is_array()) {
    const auto count = static_cast<std::size_t>(fitting(all));
    if (count < all.size()) {
      for (const Value& one : all.elements()) Validate(one, value, name);
      must(count == 0 ? "validate all the schemas (allOf). None validated"
                      : "validate all the schemas (allOf)");
    }
  }
  if (const Value no = props["not"]; no.is_object() && Fits(no, value, name)) {
    must("not validate the schema (not)");
  }
}

void Validator::Validate(Value props, Value value, const std::string& name, const Value* old) {
  if (old != nullptr && IsUnchanged(props, value, *old)) return;
  if (value.is_null() && props["nullable"].AsBool()) return;
  bool matches = true;
  CheckType(props, value, name, matches);
  if (!matches) return;
  CheckCombinations(props, value, name);
  if (value.is_string()) CheckString(props, value, name);
  if (value.is_number()) CheckNumber(props, value, name);
  if (value.is_array()) CheckArray(props, value, name, old);
  CheckEnum(props, value, name);
  if (value.is_object()) CheckObject(props, value, name, old);
}

}  // namespace

Counterparts::Counterparts(Value props, const Value* old) {
  if (old == nullptr || props["x-kubernetes-list-type"].AsString() != "map") return;
  keys_ = props["x-kubernetes-list-map-keys"];
  for (const Value& element : old->elements()) elements_.try_emplace(KeysOf(element), &element);
}

const Value* Counterparts::Of(Value element) const {
  if (elements_.empty()) return nullptr;
  const auto found = elements_.find(KeysOf(element));
  return found == elements_.end() ? nullptr : found->second;
}

std::string Counterparts::KeysOf(Value element) const {
  std::string out;
  for (const Value& key : keys_.elements()) {
    const Value part = element[key.AsString()];
    out += base::StrCat(std::to_string(static_cast<int>(part.type())),
                        json::ToString(part, {.sort_keys = true}), ",");
  }
  return out;
}

bool IsUnchanged(Value props, Value value, Value old) {
  if (!value.is_object() && !value.is_array()) return value == old;
  if (value.type() != old.type() || value.size() != old.size()) return false;
  if (value.is_array()) {
    if (props["x-kubernetes-list-type"].AsString() != "map") return value == old;
    const Value items = props["items"];
    const Counterparts counterparts(props, &old);
    for (const Value& element : value.elements()) {
      const Value* before = counterparts.Of(element);
      if (before == nullptr || !IsUnchanged(items, element, *before)) return false;
    }
    return true;
  }
  const Value properties = props["properties"];
  const Value additional = props["additionalProperties"];
  for (const json::Member& member : value.members()) {
    const Value* before = old.Find(member.name());
    const Value* below = properties.Find(member.name());
    if (below == nullptr && additional.is_object()) below = &additional;
    if (before == nullptr || below == nullptr) return false;
    if (!IsUnchanged(*below, member.value, *before)) return false;
  }
  return true;
}

void ValidateValue(const Constraints& schema, Value value, const FieldPath& path,
                   FieldErrors& errors, const Value* old) {
  // A schema that belongs to no pool is looked at once.
  const Patterns own;
  const Patterns& patterns = schema.patterns != nullptr ? *schema.patterns : own;
  Validator(path, patterns, errors).Validate(schema.props, value, "", old);
}

namespace {

// The second occurrence of each value that occurs more than once; `keys` are the elements or what
// stands for them.
void AddDuplicates(const std::vector<Value>& keys, const FieldPath& path, FieldErrors& errors) {
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (++times[json::ToString(keys[i], {.sort_keys = true})] == 2) {
      errors.push_back(Duplicate(path.Index(i), keys[i]));
    }
  }
}

void CheckListMap(Value keys, Value list, const FieldPath& path, FieldErrors& errors) {
  json::Arena arena;
  std::vector<Value> shown;
  std::size_t index = 0;
  for (const Value& element : list.elements()) {
    const FieldPath at = path.Index(index++);
    if (!element.is_object() && !element.is_null()) {
      errors.push_back(Invalid(at, element, "must be an object for an array of list-type map"));
      return;
    }
    json::ObjectBuilder key(arena);
    for (const Value& name : keys.elements()) {
      if (const Value* part = element.Find(name.AsString())) key.Set(name.AsString(), *part);
    }
    shown.push_back(key.Build());
  }
  AddDuplicates(shown, path, errors);
}

}  // namespace

void ValidateListTypes(Value props, Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_object()) {
    const Value properties = props["properties"];
    const Value additional = props["additionalProperties"];
    for (const json::Member& member : value.members()) {
      if (const Value* property = properties.Find(member.name())) {
        ValidateListTypes(*property, member.value, path.Child(member.name()), errors);
      } else if (additional.is_object()) {
        ValidateListTypes(additional, member.value, path.Key(member.name()), errors);
      }
    }
    return;
  }
  if (!value.is_array()) return;
  const std::string_view type = props["x-kubernetes-list-type"].AsString();
  if (type == "set") {
    AddDuplicates({value.elements().begin(), value.elements().end()}, path, errors);
  } else if (type == "map") {
    CheckListMap(props["x-kubernetes-list-map-keys"], value, path, errors);
  }
  std::size_t index = 0;
  for (const Value& element : value.elements()) {
    ValidateListTypes(props["items"], element, path.Index(index++), errors);
  }
}

}  // namespace portcullis::api::schema
