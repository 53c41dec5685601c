// SPDX-License-Identifier: Apache-2.0

#include "api/schema/validate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/schema/patterns.h"
#include "api/schema/schema.h"
#include "api/schema/text_formats.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "json/sorted.h"
#include "json/value_set.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

// Of JSON as OpenAPI names it, and of the Go value that holds it.
struct TypeName {
  std::string_view name;
  std::string_view format;
};

TypeName TypeOf(Value value) {
  switch (value.type()) {
    case json::Type::kNull:
      return {"null", ""};
    case json::Type::kBool:
      return {"boolean", ""};
    case json::Type::kInt:
      return {"integer", "int64"};
    case json::Type::kDouble:
      return {"number", "float64"};
    case json::Type::kString:
      return {"string", ""};
    case json::Type::kArray:
      return {"array", ""};
    case json::Type::kObject:
      break;
  }
  return {"object", ""};
}

// What a schema says of the type of its values.
struct Expected {
  explicit Expected(Value props)
      : either(props["x-kubernetes-int-or-string"].AsBool()),
        type(either ? "" : props["type"].AsString()),
        format(props["format"].AsString()) {
    if (!IsFormatOf(type, format)) format = {};
  }

  bool empty() const { return !either && type.empty(); }
  bool Has(std::string_view name) const {
    return either ? name == "integer" || name == "string" : !name.empty() && name == type;
  }
  std::string_view text() const { return either ? "integer,string" : type; }

  bool either;  // an integer or a string
  std::string_view type;
  std::string_view format;  // empty if it means nothing for this type
};

// Whether a double counts as a whole number: those that JSON can hold, and what is a hair beside one.
bool IsWhole(double number) {
  constexpr double kLargest = 9007199254740991.0;
  if (!(std::abs(number) <= kLargest)) return false;
  const double rounded = std::round(number);
  return number == rounded || std::abs(number - rounded) < 1e-9 * std::abs(rounded);
}

// A double as Go's int64() has it on amd64.
std::int64_t Truncated(double number) {
  if (!(std::abs(number) < 9223372036854775808.0)) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(number);
}

std::string NumberText(Value value) {
  return value.is_int() ? std::to_string(value.AsInt()) : golang::FormatFloat(value.AsDouble());
}

// Whether a value is one of an enumeration, converted to its type as Go converts: a number loses its
// fraction to become an integer, an integer is the character of that code.
bool IsOneOf(Value value, Value one) {
  if (value.is_null() || one.is_null()) return false;
  if (one.is_int() && value.is_double()) return Truncated(value.AsDouble()) == one.AsInt();
  if (one.is_double() && value.is_number()) return value.AsDouble() == one.AsDouble();
  if (one.is_string() && value.is_int()) {
    const std::int64_t code = value.AsInt();
    std::string text;
    base::AppendRune(code >= 0 && code <= 0x10FFFF ? static_cast<char32_t>(code) : 0xFFFD, text);
    return one.AsString() == text;
  }
  return one == value;
}

// What is wrong with a value, and how many checks it has passed: of alternatives that are all wrong
// the one with most of them is told.
struct Findings {
  FieldErrors errors;
  int passed = 0;

  bool valid() const { return errors.empty(); }
  void Take(Findings other) {
    passed += other.passed;
    if (errors.empty()) return errors.swap(other.errors);
    std::move(other.errors.begin(), other.errors.end(), std::back_inserter(errors));
  }
};

class Validator {
 public:
  Validator(FieldPath root, const Patterns& patterns)
      : root_(std::move(root)), patterns_(patterns) {}

  // `old` is what the value replaces, or null pointer: what has not changed may stay as it is.
  Findings Validate(Value props, Value value, const std::string& name, const Value* old);

 private:
  Findings Check(Value props, Value value, const std::string& name, const Value* old);
  bool CheckType(const Expected& expected, Value value, const std::string& name, Findings& out);
  void CheckText(Value props, Value value, const std::string& name, Findings& out);
  void CheckNumber(const Expected& expected, Value props, Value value, const std::string& name,
                   Findings& out);
  bool CheckRange(const Expected& expected, Value number, std::string_view what,
                  const std::string& name, Findings& out);
  void CheckMultiple(Value step, Value value, const std::string& name, Findings& out);
  void CheckArray(Value props, Value value, const std::string& name, const Value* old,
                  Findings& out);
  void CheckObject(Value props, Value value, const std::string& name, const Value* old,
                   Findings& out);
  void CheckEnum(Value props, Value value, const std::string& name, Findings& out);
  void CheckAlternatives(Value props, Value value, const std::string& name, const Value* old,
                         Findings& out);

  FieldPath At(std::string_view name) const {
    if (name.starts_with('.')) name.remove_prefix(1);
    if (name.empty()) return root_;
    if (root_.empty()) return FieldPath(name);
    return root_.Child(name);
  }
  void AddInvalid(const std::string& name, BadValue value, std::string_view text, Findings& out) {
    out.errors.push_back(
        Invalid(At(name), std::move(value), base::StrCat(name, " in body ", text)));
  }
  void AddType(const std::string& name, std::string_view wanted, std::string_view got,
               Findings& out) {
    out.errors.push_back(TypeInvalid(
        At(name), got,
        base::StrCat(name, " in body must be of type ", wanted, ": ", base::GoQuote(got))));
  }
  // Adds an error without a field path: its text names the place.
  void AddPlaceless(std::string_view text, Findings& out) {
    out.errors.push_back(Invalid(root_, "", text));
  }

  FieldPath root_;
  const Patterns& patterns_;
  int alternatives_ = 0;  // that are being looked at, one within the other
};

// Whether the type fits.
bool Validator::CheckType(const Expected& expected, Value value, const std::string& name,
                          Findings& out) {
  const TypeName got = TypeOf(value);
  const bool number = expected.Has("number") || expected.Has("integer");
  const bool fits = expected.Has(got.name) || (value.is_int() && expected.Has("number")) ||
                    (value.is_double() && expected.Has("integer") && IsWhole(value.AsDouble()));
  const bool formatted = !expected.format.empty();
  if (value.is_string() || value.is_array()) {
    if (formatted && !number) return true;  // the format tells, if anything does
  } else if (formatted && !fits) {
    AddType(name, expected.format, got.format, out);
    return false;
  }
  if (!fits) AddType(name, expected.text(), got.name, out);
  return fits;
}

// Reports only the first fault of length and pattern.
void Validator::CheckText(Value props, Value value, const std::string& name, Findings& out) {
  const std::string_view text = value.AsString();
  const auto length = static_cast<std::int64_t>(base::RuneCount(text));
  if (const Value* most = props.Find("maxLength"); most != nullptr && length > most->AsInt()) {
    return out.errors.push_back(TooLong(At(name), static_cast<int>(most->AsInt())));
  }
  if (const Value* least = props.Find("minLength"); least != nullptr && length < least->AsInt()) {
    return AddInvalid(name, value,
                      base::StrCat("should be at least ", NumberText(*least), " chars long"), out);
  }
  const std::string_view pattern = props["pattern"].AsString();
  if (!pattern.empty() && !patterns_.Occurs(pattern, text)) {
    AddInvalid(name, value, base::StrCat("should match '", pattern, "'"), out);
  }
}

// Whether the schema's type can hold a number: the value or one of its limits.
bool Validator::CheckRange(const Expected& expected, Value number, std::string_view what,
                           const std::string& name, Findings& out) {
  const double value = number.AsDouble();
  bool fits = true;
  if (expected.type == "integer") {
    fits =
        number.is_int() || (std::trunc(value) == value && std::abs(value) < 9223372036854775808.0);
    if (expected.format == "int32") fits = fits && value >= -2147483648.0 && value <= 2147483647.0;
  } else if (expected.format == "float") {
    fits = std::isfinite(static_cast<float>(value));
  }
  if (fits) return true;
  const std::string form = expected.format.empty() ? std::string(" (default format)")
                                                   : base::StrCat(" with format ", expected.format);
  AddPlaceless(base::StrCat(what, " value must be of type ", expected.type, form, " in ", name),
               out);
  return false;
}

// `step` is an integer where integers are compared.
void Validator::CheckMultiple(Value step, Value value, const std::string& name, Findings& out) {
  const double factor = step.AsDouble();
  if (factor <= 0) {
    out.errors.push_back(Invalid(At(name), step,
                                 base::StrCat("factor MultipleOf declared for ", name,
                                              " must be positive: ", NumberText(step))));
    return;
  }
  const bool multiple = step.is_int() ? value.AsInt() % step.AsInt() == 0
                        : factor < 1  ? IsWhole(1 / factor * value.AsDouble())
                                      : IsWhole(value.AsDouble() / factor);
  if (!multiple) {
    AddInvalid(name, value, base::StrCat("should be a multiple of ", NumberText(step)), out);
  }
}

// The sign of a - b.
template <typename T>
int SignOf(T a, T b) {
  return (a > b) - (a < b);
}

struct Limit {
  std::string_view keyword;
  std::string_view exclusive;
  std::string_view what;
  std::string_view text;
  int sign;  // of value - limit where it is wrong
};
constexpr Limit kLimits[] = {
    {"minimum", "exclusiveMinimum", "Minimum boundary", "should be greater than ", -1},
    {"maximum", "exclusiveMaximum", "Maximum boundary", "should be less than ", 1}};

void Validator::CheckNumber(const Expected& expected, Value props, Value value,
                            const std::string& name, Findings& out) {
  CheckRange(expected, value, "Checked", name, out);
  // Integers are compared as such, the limit loses its fraction.
  const auto bound_of = [&](Value limit, std::string_view what) {
    const bool fits = CheckRange(expected, limit, what, name, out);
    const double number = limit.AsDouble();
    return fits && value.is_int() ? Value::Int(Truncated(number)) : Value::Double(number);
  };
  if (const Value* step = props.Find("multipleOf")) {
    CheckMultiple(bound_of(*step, "MultipleOf"), value, name, out);
  }
  for (const Limit& limit : kLimits) {
    const Value* found = props.Find(limit.keyword);
    if (found == nullptr) continue;
    const Value bound = bound_of(*found, limit.what);
    const int sign = bound.is_int() ? SignOf(value.AsInt(), bound.AsInt())
                                    : SignOf(value.AsDouble(), bound.AsDouble());
    const bool exclusive = props[limit.exclusive].AsBool();
    if (sign != limit.sign && !(exclusive && sign == 0)) continue;
    AddInvalid(name, value,
               base::StrCat(limit.text, exclusive ? "" : "or equal to ", NumberText(bound)), out);
  }
}

void Validator::CheckArray(Value props, Value value, const std::string& name, const Value* old,
                           Findings& out) {
  if (const Value items = props["items"]; items.is_object()) {
    std::size_t index = 0;
    const Counterparts before(props, old);
    for (const Value& element : value.elements()) {
      out.Take(Validate(items, element, base::StrCat(name, "[", std::to_string(index++), "]"),
                        before.Of(element)));
    }
  }
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* least = props.Find("minItems"); least != nullptr && size < least->AsInt()) {
    AddInvalid(name, size, base::StrCat("should have at least ", NumberText(*least), " items"),
               out);
  }
  if (const Value* most = props.Find("maxItems"); most != nullptr && size > most->AsInt()) {
    out.errors.push_back(
        TooMany(At(name), static_cast<int>(size), static_cast<int>(most->AsInt())));
  }
  if (props["uniqueItems"].AsBool()) {
    json::ValueSet seen;
    const auto items = value.elements();
    const bool unique = std::all_of(items.begin(), items.end(),
                                    [&](const Value& item) { return seen.Insert(item); });
    if (!unique) AddInvalid(name, "", "shouldn't contain duplicates", out);
  }
}

void Validator::CheckObject(Value props, Value value, const std::string& name, const Value* old,
                            Findings& out) {
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* least = props.Find("minProperties"); least && size < least->AsInt()) {
    AddInvalid(name, size, base::StrCat("should have at least ", NumberText(*least), " properties"),
               out);
  }
  if (const Value* most = props.Find("maxProperties"); most && size > most->AsInt()) {
    out.errors.push_back(
        TooMany(At(name), static_cast<int>(size), static_cast<int>(most->AsInt())));
  }
  const auto below = [&](std::string_view member) {
    return name.empty() ? std::string(member) : base::StrCat(name, ".", member);
  };
  const Value properties = props["properties"];
  const Value additional = props["additionalProperties"];
  for (const json::Member* member : json::MembersByName(value)) {
    // Versions are converted before they are compared: what they say of themselves proves nothing.
    const bool has_type = name.empty() && root_.empty() &&
                          (member->name() == "apiVersion" || member->name() == "kind");
    const Value* before = old != nullptr && !has_type ? old->Find(member->name()) : nullptr;
    if (const Value* property = properties.Find(member->name())) {
      out.Take(Validate(*property, member->value, below(member->name()), before));
    } else if (additional.is_object()) {
      // Texts name it with a point, even where nothing stands before.
      const std::string place = base::StrCat(name, ".", member->name());
      out.Take(Validate(additional, member->value, place, before));
    }
  }
  for (const Value& required : props["required"].elements()) {
    if (!value.Has(required.AsString())) {
      out.errors.push_back(Required(At(below(required.AsString())), ""));
    }
  }
}

void Validator::CheckEnum(Value props, Value value, const std::string& name, Findings& out) {
  const Value allowed = props["enum"];
  if (allowed.empty()) return;
  std::vector<std::string> texts;
  for (const Value& one : allowed.elements()) {
    if (IsOneOf(value, one)) return;
    texts.push_back(one.is_string() ? std::string(one.AsString()) : json::ToString(one));
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  out.errors.push_back(NotSupported(At(name), value, views));
}

void Validator::CheckAlternatives(Value props, Value value, const std::string& name,
                                  const Value* old, Findings& out) {
  const auto must = [&](std::string_view text) {
    AddPlaceless(base::StrCat(base::GoQuote(name), " must ", text), out);
  };
  // Of those that fit the first, else what fits best; `count` is how many fit.
  const auto best_of = [&](Value list, bool any_will_do, std::size_t& count) {
    Findings best;
    bool first = true;
    for (const Value& one : list.elements()) {
      Findings found = Check(one, value, name, old);
      if (found.valid() && count++ > 0) continue;
      if (!found.valid() && (count > 0 || !(first || found.passed > best.passed))) continue;
      best = std::move(found);
      first = false;
      if (count > 0 && any_will_do) break;
    }
    return best;
  };
  ++alternatives_;
  std::size_t count = 0;
  if (const Value any = props["anyOf"]; !any.empty()) {
    Findings best = best_of(any, true, count);
    if (count == 0) must("validate at least one schema (anyOf)");
    out.Take(std::move(best));
  }
  if (const Value one = props["oneOf"]; !one.empty()) {
    count = 0;
    Findings best = best_of(one, false, count);
    if (count == 0) must("validate one and only one schema (oneOf). Found none valid");
    if (count > 1) {
      must(base::StrCat("validate one and only one schema (oneOf). Found ", std::to_string(count),
                        " valid alternatives"));
    }
    if (count <= 1) out.Take(std::move(best));
  }
  if (const Value all = props["allOf"]; !all.empty()) {
    count = 0;
    for (const Value& one : all.elements()) {
      Findings found = Check(one, value, name, old);
      if (found.valid()) ++count;
      out.Take(std::move(found));
    }
    if (count < all.size()) {
      must(count == 0 ? "validate all the schemas (allOf). None validated"
                      : "validate all the schemas (allOf)");
    }
  }
  if (const Value no = props["not"]; no.is_object() && Check(no, value, name, old).valid()) {
    must("not validate the schema (not)");
  }
  --alternatives_;
}

// A check of the type alone says that it does not fit; the others look at the value all the same.
Findings Validator::Check(Value props, Value value, const std::string& name, const Value* old) {
  Findings out;
  const Expected expected(props);
  if (value.is_null()) {
    if (expected.empty() || props["nullable"].AsBool()) {
      ++out.passed;
    } else {
      AddType(name, expected.text(), "null", out);
    }
    CheckEnum(props, value, name, out);
    return out;
  }
  if (!expected.empty() || !expected.format.empty()) {
    out.passed += CheckType(expected, value, name, out) ? 2 : 1;
  }
  CheckAlternatives(props, value, name, old, out);
  if (value.is_string()) {
    CheckText(props, value, name, out);
    if (IsFormatOf("string", expected.format)) {
      ++out.passed;
      if (!MatchesFormat(expected.format, value.AsString())) {
        AddType(name, expected.format, value.AsString(), out);
      }
    }
  }
  if (value.is_number()) CheckNumber(expected, props, value, name, out);
  if (value.is_array()) CheckArray(props, value, name, old, out);
  CheckEnum(props, value, name, out);
  if (value.is_object()) CheckObject(props, value, name, old, out);
  // Alternatives, the enumeration and the schema itself, and what belongs to the type.
  out.passed += 4 + (value.is_number() || value.is_array() ? 2 : value.is_bool() ? 0 : 1);
  return out;
}

Findings Validator::Validate(Value props, Value value, const std::string& name, const Value* old) {
  // Within alternatives it counts how much of the value fits, even if it has not changed.
  if (old != nullptr && alternatives_ == 0 && IsUnchanged(props, value, *old)) return {};
  Findings found = Check(props, value, name, old);
  if (old != nullptr && alternatives_ > 0 && !found.valid() && IsUnchanged(props, value, *old)) {
    found.errors.clear();
  }
  return found;
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
  std::unordered_set<std::string> told;
  for (FieldError& error :
       Validator(path, patterns).Validate(schema.props, value, "", old).errors) {
    if (told.insert(error.ToString()).second) errors.push_back(std::move(error));
  }
}

namespace {

// What makes a value the same as another: its JSON, but for a number by itself, where 1.0 and 1 are
// values of two types of Go.
std::string IdentityOf(Value value) {
  return base::StrCat(value.is_double() ? "float " : "",
                      json::ToString(value, {.sort_keys = true}));
}

// The second occurrence of each value that occurs more than once; `keys` are the elements or what
// stands for them.
void AddDuplicates(const std::vector<Value>& keys, const FieldPath& path, FieldErrors& errors) {
  json::Arena arena;
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (++times[IdentityOf(keys[i])] == 2) {
      errors.push_back(Duplicate(path.Index(i), json::Sorted(arena, keys[i])));
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
