// SPDX-License-Identifier: Apache-2.0

// Values of custom resources as rules see them.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/strings.h"
#include "golang/time.h"
#include "kube_cel/schema_rules.h"
#include "kube_cel/schema_sizes.h"

namespace portcullis::kube_cel {
namespace {

using cel::Value;

Value Invalid(json::Arena& arena, std::string_view text) { return cel::MakeError(arena, text); }

// As Go prints the type of decoded JSON.
std::string_view GoType(json::Value value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_int()) return "int64";
  if (value.is_number()) return "float64";
  return value.is_array() ? "[]interface {}" : "map[string]interface {}";
}

Value Moment(json::Arena& arena, std::string_view text) {
  int offset_seconds = 0;
  const auto moment = golang::ParseTime(text, &offset_seconds);
  if (!moment.ok()) return Invalid(arena, moment.status().message());
  return Value::Timestamp(moment->seconds, static_cast<std::uint32_t>(moment->nanos),
                          offset_seconds / 60);
}

Value TextValue(json::Arena& arena, std::string_view format, std::string_view text) {
  if (format == "byte") {
    const auto bytes = base::Base64Decode(text);
    if (bytes) return cel::MakeBytes(arena, *bytes);
    return Invalid(arena,
                   base::StrCat("Invalid byte formatted string ", text, ": illegal base64 data"));
  }
  if (format == "duration") {
    const auto duration = golang::ParseDuration(text);
    if (duration.ok()) return Value::Duration(*duration);
    return Invalid(arena,
                   base::StrCat("Invalid duration ", text, ": ", duration.status().message()));
  }
  if (format != "date" && format != "date-time") return Value::String(text);
  const bool date = format == "date";
  const Value moment = Moment(arena, date ? base::StrCat(text, "T00:00:00Z") : std::string(text));
  if (!moment.is_error()) return moment;
  return Invalid(arena, base::StrCat("Invalid ", format, " formatted string ", text, ": ",
                                     moment.error()->text));
}

// What keyed lists and sets are looked up by: equal scalars have equal texts.
void AppendKey(std::string& out, Value value) {
  out += static_cast<char>('A' + static_cast<int>(value.kind()));
  out += value.is_unset() ? std::string() : cel::DebugString(value);
  out += '\0';
}

class RuleList final : public cel::List {
 public:
  enum class Kind : std::uint8_t { kAtomic, kSet, kKeyed };

  RuleList(std::span<const Value> elements, Kind kind, json::Value keys)
      : elements_(elements), kind_(kind), keys_(keys) {}

  std::size_t size() const override { return elements_.size(); }
  Value At(json::Arena&, std::size_t index) const override { return elements_[index]; }

  // The order does not count, but for an atomic list. What is no list cannot be compared.
  Value EqualTo(json::Arena& arena, Value other) const override {
    if (!other.is_list()) return cel::NoSuchOverload();
    if (kind_ == Kind::kAtomic) return {};
    if (other.size() != size()) return Value::Bool(false);
    const auto places = Places(arena);
    for (std::size_t i = 0; i < other.size(); ++i) {
      const Value element = other.At(arena, i);
      const auto found = std::lower_bound(places.begin(), places.end(), Key(arena, element),
                                          [](const auto& a, const auto& b) { return a.first < b; });
      if (found == places.end() || found->first != Key(arena, element)) return Value::Bool(false);
      if (kind_ == Kind::kSet) continue;
      const Value same = cel::Equal(arena, elements_[found->second], element);
      if (!same.is_true()) return same;
    }
    return Value::Bool(true);
  }

  // Elements of the other list replace those with the same key; new ones come last.
  Value JoinedWith(json::Arena& arena, Value other) const override {
    if (kind_ == Kind::kAtomic) return {};
    std::vector<Value> joined(elements_.begin(), elements_.end());
    auto places = Places(arena);
    std::unordered_set<std::string> added;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const Value element = other.At(arena, i);
      const std::string key = Key(arena, element);
      const auto found = std::lower_bound(places.begin(), places.end(), key,
                                          [](const auto& a, const auto& b) { return a.first < b; });
      if (found != places.end() && found->first == key) {
        joined[found->second] = element;
      } else if (kind_ == Kind::kKeyed || added.insert(key).second) {
        joined.push_back(element);
      }
    }
    return Make(arena, joined, kind_, keys_);
  }

  // An element that cannot be compared is told unless another one is the same.
  Value Holds(json::Arena& arena, Value element) const override {
    Value held = Value::Bool(false);
    for (const Value mine : elements_) {
      const bool is_composite = mine.is_list() || mine.is_map();
      const bool is_null = element.kind() == cel::Kind::kNull;
      const Value same =
          is_composite && is_null ? cel::NoSuchOverload() : cel::Equal(arena, mine, element);
      if (same.is_true()) return same;
      if (same.is_error() && !held.is_error()) held = same;
    }
    return held;
  }

  static Value Make(json::Arena& arena, std::span<const Value> elements, Kind kind,
                    json::Value keys) {
    auto* copy =
        static_cast<Value*>(arena.Allocate((elements.size() + 1) * sizeof(Value), alignof(Value)));
    std::uninitialized_copy(elements.begin(), elements.end(), copy);
    return Value::FromList(
        cel::New<RuleList>(arena, std::span<const Value>(copy, elements.size()), kind, keys));
  }

 private:
  std::string Key(json::Arena& arena, Value element) const {
    std::string key;
    if (kind_ == Kind::kSet) {
      AppendKey(key, element);
      return key;
    }
    for (const json::Value& name : keys_.elements()) {
      const std::string field = EscapeFieldName(name.AsString());
      AppendKey(key, element.is_map() ? element.Find(arena, Value::String(field)) : Value());
    }
    return key;
  }

  // Keys with the last place of each, sorted.
  std::vector<std::pair<std::string, std::size_t>> Places(json::Arena& arena) const {
    std::vector<std::pair<std::string, std::size_t>> places;
    places.reserve(size());
    for (std::size_t i = size(); i > 0; --i) {
      places.emplace_back(Key(arena, elements_[i - 1]), i - 1);
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return places;
  }

  std::span<const Value> elements_;
  Kind kind_;
  json::Value keys_;
};

Value Convert(json::Arena& arena, json::Value props, const json::Value& value,
              bool is_resource = false);

class RuleMap final : public cel::Map {
 public:
  RuleMap(json::Value props, bool is_resource, json::Value value)
      : props_(props),
        value_(value),
        is_resource_(is_resource || props["x-kubernetes-embedded-resource"].AsBool()),
        is_struct_(is_resource_ || !props["properties"].is_null()) {}

  std::size_t size() const override { return value_.size(); }
  Value Find(json::Arena& arena, Value key) const override {
    if (!key.is_string()) return cel::NoSuchOverload();
    std::optional<std::string> name;
    if (is_struct_) {
      name = UnescapeFieldName(key.text());
      if (!name) return {};
    }
    return Member(arena, name ? std::string_view(*name) : key.text());
  }
  Value KeyAt(json::Arena& arena, std::size_t index) const override {
    const std::string_view name = value_.members()[index].name();
    if (!is_struct_) return Value::String(name);
    const std::string field = EscapeFieldName(name);
    return field.empty() ? Value::String(name) : cel::MakeString(arena, field);
  }
  Value ValueAt(json::Arena& arena, std::size_t index) const override {
    const Value value = Member(arena, value_.members()[index].name());
    return value.is_unset() ? Value::Null() : value;
  }
  // Properties by their schema; null is as good as absent. What no schema describes only has to be
  // the same where both have it.
  Value EqualTo(json::Arena& arena, Value other) const override {
    if (!other.is_map()) return cel::NoSuchOverload();
    if (other.size() != size()) return Value::Bool(false);
    const RuleMap* that = As(other);
    for (const json::Member& member : value_.members()) {
      if (!Knows(member.name())) {
        const json::Value* unknown = that ? that->value_.Find(member.name()) : nullptr;
        if (unknown && !(*unknown == member.value)) return Value::Bool(false);
        continue;
      }
      const Value mine = Member(arena, member.name());
      const Value theirs = that ? that->Member(arena, member.name())
                                : other.Find(arena, Value::String(member.name()));
      if (mine.is_unset() != theirs.is_unset()) return Value::Bool(false);
      if (mine.is_unset()) continue;
      const Value same = mine.is_error() ? mine : cel::Equal(arena, mine, theirs);
      if (!same.is_true()) return same;
    }
    return Value::Bool(true);
  }

 private:
  static const RuleMap* As(Value value) { return dynamic_cast<const RuleMap*>(value.own_map()); }

  json::Value SchemaOf(json::Arena& arena, std::string_view name) const {
    if (!is_struct_) {
      const json::Value additional = props_["additionalProperties"];
      return additional.is_object() ? additional : json::Value();
    }
    if (!is_resource_) return props_["properties"][name];
    for (const json::Member& member : VisibleProperties(arena, props_, is_resource_)) {
      if (member.name() == name) return member.value;
    }
    return {};
  }
  bool Knows(std::string_view name) const {
    json::Arena arena;
    return SchemaOf(arena, name).is_object();
  }
  Value Member(json::Arena& arena, std::string_view name) const {
    const json::Value* found = value_.Find(name);
    if (!found || (is_struct_ && found->is_null())) return {};
    const json::Value schema = SchemaOf(arena, name);
    return schema.is_object() ? Convert(arena, schema, *found) : Value();
  }

  json::Value props_;
  json::Value value_;
  bool is_resource_;
  bool is_struct_;
};

Value ConvertList(json::Arena& arena, json::Value props, json::Value value) {
  if (!value.is_array()) {
    return Invalid(arena,
                   "invalid data, expected an array for the provided schema with type=array");
  }
  const json::Value items = props["items"];
  if (!items.is_object()) {
    return Invalid(arena, "invalid array type, expected Items with a non-empty Schema");
  }
  std::vector<Value> elements;
  elements.reserve(value.size());
  for (const json::Value& element : value.elements()) {
    elements.push_back(Convert(arena, items, element));
  }
  const std::string_view type = props["x-kubernetes-list-type"].AsString();
  const auto kind = type == "set"   ? RuleList::Kind::kSet
                    : type == "map" ? RuleList::Kind::kKeyed
                                    : RuleList::Kind::kAtomic;
  return RuleList::Make(arena, elements, kind, props["x-kubernetes-list-map-keys"]);
}

Value Expected(json::Arena& arena, std::string_view type, json::Value value) {
  return Invalid(arena, base::StrCat("invalid data, expected ", type, ", got ", GoType(value)));
}

Value Convert(json::Arena& arena, json::Value props, const json::Value& value, bool is_resource) {
  if (value.is_null()) {
    if (props["nullable"].AsBool()) return Value::Null();
    return Invalid(arena, "invalid data, got null for schema with nullable=false");
  }
  if (props["x-kubernetes-int-or-string"].AsBool()) {
    if (value.is_string() || value.is_int()) return Value::FromJson(&value);
    return Invalid(arena,
                   "invalid data, expected XIntOrString value to be either a string or integer");
  }
  const std::string_view type = props["type"].AsString();
  if (type == "object") {
    if (value.is_object())
      return Value::FromMap(cel::New<RuleMap>(arena, props, is_resource, value));
    return Invalid(arena, "invalid data, expected a map for the provided schema with type=object");
  }
  if (type == "array") return ConvertList(arena, props, value);
  if (type == "string") {
    if (!value.is_string()) return Expected(arena, "string", value);
    return TextValue(arena, props["format"].AsString(), value.AsString());
  }
  if (type == "number") {
    if (!value.is_number()) return Expected(arena, "float", value);
    return Value::Double(value.AsDouble());
  }
  if (type == "integer") {
    if (!value.is_int()) return Expected(arena, "int", value);
    return Value::Int(value.AsInt());
  }
  if (type == "boolean") {
    if (!value.is_bool()) return Expected(arena, "bool", value);
    return Value::Bool(value.AsBool());
  }
  return Value::FromJson(&value);
}

}  // namespace

cel::Value RuleValue(json::Arena& arena, json::Value props, bool is_resource, json::Value value) {
  const auto* kept = new (arena.Allocate(sizeof(json::Value))) json::Value(value);
  return Convert(arena, props, *kept, is_resource);
}

}  // namespace portcullis::kube_cel
