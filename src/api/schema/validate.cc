// The checks run over the JSONSchemaProps of the definition itself, in the order in which
// kube-openapi's validators stand: type, combined schemas, text, format, number, list, enumeration,
// object. Errors therefore come in the order an apiserver reports them.
#include "api/schema/validate.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/schema/formats.h"
#include "base/gotext.h"
#include "base/strings.h"
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
      return "object";
  }
  return "";
}

std::string WantedTypes(Value props) {
  if (props["x-kubernetes-int-or-string"].AsBool()) return "integer,string";
  return std::string(props["type"].AsString());
}

bool IsWhole(double value) { return std::floor(value) == value; }

bool IsOfType(Value value, std::string_view wanted) {
  const std::string_view actual = TypeName(value);
  if (wanted.empty() || actual == wanted) return true;
  if (wanted == "integer,string") {
    return value.is_string() || value.is_int() || (value.is_double() && IsWhole(value.AsDouble()));
  }
  if (wanted == "number") return value.is_int();
  return wanted == "integer" && value.is_double() && IsWhole(value.AsDouble());
}

std::string GoNumber(Value number) { return BadValue(number.AsDouble()).text(); }

// The path of the value, as in "spec.list[0].name"; "" for the object itself.
std::string Below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : base::StrCat(path, ".", name);
}

FieldPath PathOf(const std::string& path) {
  std::string_view text = path;
  if (text.starts_with('.')) text.remove_prefix(1);
  return text.empty() ? FieldPath() : FieldPath(text);
}

class Validator {
 public:
  explicit Validator(FieldErrors& errors) : errors_(errors) {}

  // `old` is the value this one replaces, or null pointer if there is none to compare with.
  void Check(Value props, Value value, const Value* old, const std::string& path) {
    if (!props.is_object() || (old != nullptr && *old == value)) return;
    CheckType(props, value, path);
    if (value.is_null()) {
      CheckEnum(props, value, path);
      return;
    }
    CheckCombined(props, value, path);
    if (value.is_string()) CheckText(props, value, path);
    if (value.is_number()) CheckNumber(props, value, path);
    if (value.is_array()) CheckList(props, value, old, path);
    CheckEnum(props, value, path);
    if (value.is_object()) CheckObject(props, value, old, path);
  }

 private:
  void Wrong(const std::string& path, BadValue value, std::string_view text) {
    errors_.push_back(
        Invalid(PathOf(path), std::move(value), base::StrCat(path, " in body ", text)));
  }

  void WrongType(const std::string& path, std::string_view wanted, std::string_view actual) {
    errors_.push_back(TypeInvalid(
        PathOf(path), actual,
        base::StrCat(path, " in body must be of type ", wanted, ": ", base::GoQuote(actual))));
  }

  void CheckType(Value props, Value value, const std::string& path) {
    const std::string wanted = WantedTypes(props);
    if (value.is_null()) {
      if (!wanted.empty() && !props["nullable"].AsBool()) WrongType(path, wanted, "null");
      return;
    }
    if (!IsOfType(value, wanted)) WrongType(path, wanted, TypeName(value));
  }

  FieldErrors ErrorsOf(Value props, Value value, const std::string& path) {
    FieldErrors found;
    Validator(found).Check(props, value, nullptr, path);
    return found;
  }

  void Combined(const std::string& path, std::string_view text) {
    errors_.push_back(Invalid(FieldPath(), "", base::StrCat(base::GoQuote(path), " must ", text)));
  }

  // anyOf, oneOf: how many of the schemas hold, and the errors of the one that failed least.
  std::size_t CountHolding(Value schemas, Value value, const std::string& path, FieldErrors& best) {
    std::size_t holding = 0;
    bool first = true;
    for (const Value& props : schemas.elements()) {
      FieldErrors found = ErrorsOf(props, value, path);
      if (found.empty()) {
        ++holding;
      } else if (first || found.size() < best.size()) {
        best = std::move(found);
        first = false;
      }
    }
    return holding;
  }

  void CheckCombined(Value props, Value value, const std::string& path) {
    FieldErrors best;
    if (!props["anyOf"].empty() && CountHolding(props["anyOf"], value, path, best) == 0) {
      Combined(path, "validate at least one schema (anyOf)");
      errors_.insert(errors_.end(), best.begin(), best.end());
    }
    if (!props["oneOf"].empty()) {
      best.clear();
      const std::size_t holding = CountHolding(props["oneOf"], value, path, best);
      if (holding == 0) {
        Combined(path, "validate one and only one schema (oneOf). Found none valid");
        errors_.insert(errors_.end(), best.begin(), best.end());
      } else if (holding > 1) {
        Combined(path, base::StrCat("validate one and only one schema (oneOf). Found ",
                                    std::to_string(holding), " valid alternatives"));
      }
    }
    CheckAll(props, value, path);
    if (props["not"].is_object() && ErrorsOf(props["not"], value, path).empty()) {
      Combined(path, "not validate the schema (not)");
    }
  }

  void CheckAll(Value props, Value value, const std::string& path) {
    const Value all = props["allOf"];
    FieldErrors found;
    std::size_t holding = 0;
    for (const Value& each : all.elements()) {
      FieldErrors more = ErrorsOf(each, value, path);
      if (more.empty()) ++holding;
      found.insert(found.end(), more.begin(), more.end());
    }
    if (holding == all.size()) return;
    Combined(path, base::StrCat("validate all the schemas (allOf)",
                                holding == 0 ? ". None validated" : ""));
    errors_.insert(errors_.end(), found.begin(), found.end());
  }

  void CheckText(Value props, Value value, const std::string& path) {
    const std::string_view text = value.AsString();
    const Value longest = props["maxLength"];
    const Value shortest = props["minLength"];
    if (!longest.is_null() || !shortest.is_null()) {
      const auto length = static_cast<std::int64_t>(base::RuneCount(text));
      if (!longest.is_null() && length > longest.AsInt()) {
        errors_.push_back(TooLong(PathOf(path), static_cast<int>(longest.AsInt())));
      } else if (!shortest.is_null() && length < shortest.AsInt()) {
        Wrong(path, value,
              base::StrCat("should be at least ", json::ToString(shortest), " chars long"));
      }
    }
    const std::string_view pattern = props["pattern"].AsString();
    if (!pattern.empty()) {
      const RE2 expression(re2::StringPiece(pattern.data(), pattern.size()), RE2::Quiet);
      if (expression.ok() &&
          !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression)) {
        Wrong(path, value, base::StrCat("should match '", pattern, "'"));
      }
    }
    const std::string_view format = props["format"].AsString();
    if (!format.empty() && !HasFormat(text, format)) {
      errors_.push_back(TypeInvalid(
          PathOf(path), value,
          base::StrCat(path, " in body must be of type ", format, ": ", base::GoQuote(text))));
    }
  }

  void CheckNumber(Value props, Value value, const std::string& path) {
    const double number = value.AsDouble();
    const Value factor = props["multipleOf"];
    if (factor.is_number() && factor.AsDouble() > 0 && !IsWhole(number / factor.AsDouble())) {
      Wrong(path, value, base::StrCat("should be a multiple of ", GoNumber(factor)));
    }
    const Value most = props["maximum"];
    const bool below = props["exclusiveMaximum"].AsBool();
    if (most.is_number() && (number > most.AsDouble() || (below && number == most.AsDouble()))) {
      Wrong(path, value,
            base::StrCat("should be less than ", below ? "" : "or equal to ", GoNumber(most)));
    }
    const Value least = props["minimum"];
    const bool above = props["exclusiveMinimum"].AsBool();
    if (least.is_number() && (number < least.AsDouble() || (above && number == least.AsDouble()))) {
      Wrong(path, value,
            base::StrCat("should be greater than ", above ? "" : "or equal to ", GoNumber(least)));
    }
  }

  // The element of `old` with the same keys, for lists of type map only: others have no identity.
  static const Value* Counterpart(Value props, Value element, const Value* old) {
    if (old == nullptr || props["x-kubernetes-list-type"].AsString() != "map") return nullptr;
    for (const Value& candidate : old->elements()) {
      bool same = true;
      for (const Value& key : props["x-kubernetes-list-map-keys"].elements()) {
        same = same && candidate[key.AsString()] == element[key.AsString()];
      }
      if (same) return &candidate;
    }
    return nullptr;
  }

  void CheckList(Value props, Value value, const Value* old, const std::string& path) {
    for (std::size_t i = 0; i < value.size() && props["items"].is_object(); ++i) {
      Check(props["items"], value[i], Counterpart(props, value[i], old),
            base::StrCat(path, "[", std::to_string(i), "]"));
    }
    const auto size = static_cast<std::int64_t>(value.size());
    const Value least = props["minItems"];
    if (!least.is_null() && size < least.AsInt()) {
      Wrong(path, size, base::StrCat("should have at least ", json::ToString(least), " items"));
    }
    const Value most = props["maxItems"];
    if (!most.is_null() && size > most.AsInt()) {
      errors_.push_back(
          TooMany(PathOf(path), static_cast<int>(size), static_cast<int>(most.AsInt())));
    }
    if (props["uniqueItems"].AsBool() && !AllDistinct(value)) {
      Wrong(path, "", "shouldn't contain duplicates");
    }
  }

  static bool AllDistinct(Value list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (list[i] == list[j]) return false;
      }
    }
    return true;
  }

  void CheckEnum(Value props, Value value, const std::string& path) {
    const Value allowed = props["enum"];
    if (allowed.empty()) return;
    std::vector<std::string> texts;
    for (const Value& each : allowed.elements()) {
      const bool same = each.is_number() && value.is_number() ? each.AsDouble() == value.AsDouble()
                                                              : each == value;
      if (same) return;
      texts.push_back(each.is_string() ? std::string(each.AsString()) : json::ToString(each));
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    errors_.push_back(NotSupported(PathOf(path), value, views));
  }

  void CheckObject(Value props, Value value, const Value* old, const std::string& path) {
    const auto size = static_cast<std::int64_t>(value.size());
    const Value least = props["minProperties"];
    if (!least.is_null() && size < least.AsInt()) {
      Wrong(path, size,
            base::StrCat("should have at least ", json::ToString(least), " properties"));
      return;
    }
    const Value most = props["maxProperties"];
    if (!most.is_null() && size > most.AsInt()) {
      errors_.push_back(
          TooMany(PathOf(path), static_cast<int>(size), static_cast<int>(most.AsInt())));
      return;
    }
    const Value properties = props["properties"];
    const Value additional = props["additionalProperties"];
    for (const json::Member& member : value.members()) {
      const Value* known = properties.Find(member.name(), member.hash);
      const Value* before = old != nullptr ? old->Find(member.name(), member.hash) : nullptr;
      const Value below = known != nullptr ? *known : additional;
      if (below.is_object()) Check(below, member.value, before, Below(path, member.name()));
    }
    for (const Value& name : props["required"].elements()) {
      if (value.Has(name.AsString())) continue;
      errors_.push_back(Required(PathOf(Below(path, name.AsString())), ""));
    }
  }

  FieldErrors& errors_;
};

// --- Lists of type set and map: no element twice. ---

void CheckDuplicates(const std::vector<Value>& keys, const FieldPath& path, FieldErrors& errors) {
  std::unordered_map<std::string, int> seen;
  json::WriteOptions sorted;
  sorted.sort_keys = true;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // Each key that occurs more than once is reported at its second place only.
    if (++seen[json::ToString(keys[i], sorted)] == 2) {
      errors.push_back(Duplicate(path.Index(i), keys[i]));
    }
  }
}

void CheckIdentities(json::Arena& arena, Value props, Value value, const FieldPath& path,
                     FieldErrors& errors) {
  if (value.is_array()) {
    const std::string_view type = props["x-kubernetes-list-type"].AsString();
    std::vector<Value> keys;
    for (const Value& element : value.elements()) {
      if (type == "set") keys.push_back(element);
      if (type != "map") continue;
      json::ObjectBuilder key(arena);
      for (const Value& name : props["x-kubernetes-list-map-keys"].elements()) {
        const Value* part = element.Find(name.AsString());
        if (part != nullptr) key.Set(name.AsString(), *part);
      }
      keys.push_back(key.Build());
    }
    CheckDuplicates(keys, path, errors);
    for (std::size_t i = 0; i < value.size() && props["items"].is_object(); ++i) {
      CheckIdentities(arena, props["items"], value[i], path.Index(i), errors);
    }
  }
  for (const json::Member& member : value.members()) {
    const Value* known = props["properties"].Find(member.name(), member.hash);
    if (known != nullptr) {
      CheckIdentities(arena, *known, member.value, path.Child(member.name()), errors);
    } else if (props["additionalProperties"].is_object()) {
      CheckIdentities(arena, props["additionalProperties"], member.value, path.Key(member.name()),
                      errors);
    }
  }
}

FieldErrors Validate(const Schema& schema, Value object, const Value* old) {
  FieldErrors errors;
  if (schema.constraints == nullptr || !schema.constraints->props.is_object()) return errors;
  const Value props = schema.constraints->props;
  Validator(errors).Check(props, object, old, "");
  json::Arena arena;
  CheckIdentities(arena, props, object, FieldPath(), errors);
  return errors;
}

}  // namespace

FieldErrors ValidateCustomObject(const Schema& schema, Value object) {
  return Validate(schema, object, nullptr);
}

FieldErrors ValidateCustomObjectUpdate(const Schema& schema, Value object, Value old) {
  return Validate(schema, object, &old);
}

}  // namespace portcullis::api::schema
