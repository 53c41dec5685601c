// SPDX-License-Identifier: Apache-2.0

#include "api/patch/typed.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/patch/go_value.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;
using schema::Kind;
using schema::ListType;
using schema::MapType;
using schema::Schema;

enum class Shape { kLeaf, kList, kMap };

// How a value at a place with this schema is treated.
Shape ShapeOf(const Schema* schema, Value value) {
  const bool open =
      schema == nullptr || (schema->kind == Kind::kAny && schema->preserve_unknown_fields);
  if (open) return value.is_object() ? Shape::kMap : Shape::kLeaf;
  switch (schema->kind) {
    case Kind::kStruct:
    case Kind::kMap:
      return schema->map_type == MapType::kAtomic || value.is_array() ? Shape::kLeaf : Shape::kMap;
    case Kind::kArray:
      return (schema->list_type == ListType::kMap || schema->list_type == ListType::kSet) &&
                     !value.is_object()
                 ? Shape::kList
                 : Shape::kLeaf;
    default:
      return Shape::kLeaf;
  }
}

const Schema* ChildSchema(const Schema* schema, std::string_view name) {
  if (schema == nullptr) return nullptr;
  if (const schema::Field* field = schema->FindField(name)) return field->schema;
  return schema->kind == Kind::kMap ? schema->element : nullptr;
}

const Schema* ElementSchema(const Schema* schema) {
  return schema == nullptr ? nullptr : schema->element;
}

// What a key that an element leaves out counts as; null if nothing. OpenAPI gives the required
// fields of Go types their zero value as default.
Value KeyDefault(const Schema& list, std::string_view key) {
  const schema::Field* field = list.element == nullptr ? nullptr : list.element->FindField(key);
  if (field == nullptr) return {};
  if (const Value value = field->default_value(); !value.is_null()) return value;
  if (field->go_name().empty() || !field->required) return {};
  return field->schema != nullptr && field->schema->kind == Kind::kInteger ? Value::Int(0)
                                                                           : Value::StringView("");
}

PathElement StepOf(const Schema& list, Value element) {
  if (list.list_type == ListType::kSet) {
    return {PathElement::Kind::kValue, json::ToString(element, {.sort_keys = true})};
  }
  PathElement step{PathElement::Kind::kKey, "{"};
  const auto put = [&](std::string_view name) {
    const Value* value = element.Find(name);
    const Value key = value != nullptr && !value->is_null() ? *value : KeyDefault(list, name);
    if (key.is_null()) return;
    if (step.text.size() > 1) step.text += ',';
    json::WriteString(name, step.text);
    step.text += ':';
    json::Write(key, step.text, {.sort_keys = true});
  };
  if (list.list_map_keys.size() == 1) {
    put(list.list_map_keys.front());
  } else {
    std::vector<std::string_view> names(list.list_map_keys.begin(), list.list_map_keys.end());
    std::sort(names.begin(), names.end());
    for (const std::string_view name : names) put(name);
  }
  step.text += '}';
  return step;
}

struct Element {
  PathElement step;
  Value value;
};

// The elements of a keyed list or set with their steps, in order. Only the first of equal steps.
class Elements {
 public:
  Elements(const Schema& list, const Value* value) {
    if (value == nullptr) return;
    all_.reserve(value->size());
    for (const Value& element : value->elements()) {
      PathElement step = StepOf(list, element);
      if (PlaceOf(step)) continue;
      if (all_.size() >= kFew) places_.emplace(step, all_.size());
      all_.push_back({std::move(step), element});
      if (all_.size() != kFew) continue;
      for (std::size_t i = 0; i < kFew; ++i) places_.emplace(all_[i].step, i);
    }
  }

  std::optional<std::size_t> PlaceOf(const PathElement& step) const {
    if (all_.size() >= kFew) {
      const auto found = places_.find(step);
      return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].step == step) return i;
    }
    return std::nullopt;
  }
  // Null if there is none.
  const Value* Find(const PathElement& step) const {
    const auto place = PlaceOf(step);
    return place ? &all_[*place].value : nullptr;
  }

  std::size_t size() const { return all_.size(); }
  Element& operator[](std::size_t i) { return all_[i]; }
  const Element& operator[](std::size_t i) const { return all_[i]; }
  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  static constexpr std::size_t kFew = 16;  // fewer are searched one by one
  std::vector<Element> all_;
  std::map<PathElement, std::size_t> places_;
};

// --- checking ---

// No name that Kubernetes or a client gives a field.
constexpr std::string_view kForeign = "\x01foreign";

class Checker {
 public:
  explicit Checker(bool native) : native_(native) {}
  void Check(const Schema* schema, Value value, const std::string& path);
  base::Status Outcome() const;

 private:
  void CheckList(const Schema& schema, Value value, const std::string& path);
  void CheckMap(const Schema& schema, Value value, const std::string& path);
  void CheckScalar(const Schema& schema, Value value, const std::string& path);
  void CheckForeign(const Schema& schema, Value value, const std::string& path);
  bool IsForeign(Value value) const { return native_ && value.is_object() && value.Has(kForeign); }
  bool CanBeElement(const Schema& schema, Value element, std::size_t index,
                    const std::string& path);
  void Add(const std::string& path, std::string_view text) {
    errors_.push_back(base::StrCat(path, ": ", text));
  }

  const bool native_;
  std::vector<std::string> errors_;
};

base::Status Checker::Outcome() const {
  if (errors_.empty()) return base::OkStatus();
  if (errors_.size() == 1) return {base::Reason::kUnknown, errors_[0]};
  std::string text = "errors:";
  for (const std::string& error : errors_) text += "\n  " + error;
  return {base::Reason::kUnknown, text};
}

// What %#v of a reader's value prints: the Go literal of the value it holds.
std::string GoLiteral(Value value) {
  const std::string inner =
      value.is_string() ? base::GoQuote(value.AsString()) : GoValueText(value);
  return base::StrCat("&value.valueUnstructured{Value:", inner, "}");
}

void Checker::CheckScalar(const Schema& schema, Value value, const std::string& path) {
  const auto got = [&] { return base::StrCat("&{", GoValueText(value), "}"); };
  switch (schema.kind) {
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
      if (!value.is_string()) Add(path, "expected string, got " + GoLiteral(value));
      break;
    case Kind::kInteger:
    case Kind::kNumber:
      if (!value.is_number()) {
        Add(path, base::StrCat("expected numeric (int or float), got ", GoTypeName(value)));
      }
      break;
    case Kind::kBoolean:
      if (!value.is_bool()) Add(path, "expected boolean, got " + got());
      break;
    case Kind::kQuantity:
    case Kind::kIntOrString:
    case Kind::kTime:
    case Kind::kMicroTime:
      if (value.is_array() || value.is_object()) Add(path, "expected any scalar, got " + got());
      break;
    default:
      break;
  }
}

void Checker::CheckForeign(const Schema& schema, Value value, const std::string& path) {
  const Value foreign = value[kForeign];
  const std::string text = base::StrCat("&{", foreign["text"].AsString(), "}");
  switch (schema.kind) {
    case Kind::kArray:
      return Add(path, "expected list, got " + text);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
      return Add(path, base::StrCat("expected string, got &value.valueUnstructured{Value:",
                                    foreign["literal"].AsString(), "}"));
    case Kind::kInteger:
    case Kind::kNumber:
      return Add(path,
                 base::StrCat("expected numeric (int or float), got ", foreign["type"].AsString()));
    case Kind::kBoolean:
      return Add(path, "expected boolean, got " + text);
    case Kind::kQuantity:
    case Kind::kIntOrString:
    case Kind::kTime:
    case Kind::kMicroTime:
      return Add(path, "expected any scalar, got " + text);
    default:
      return Add(path, "expected map, got " + text);
  }
}

// Whether the element has none of the list's keys, not even by default.
bool OmitsKeys(const Schema& schema, Value element) {
  if (schema.list_type != ListType::kMap || schema.list_map_keys.empty()) return false;
  return std::none_of(
      schema.list_map_keys.begin(), schema.list_map_keys.end(),
      [&](std::string_view key) { return element.Has(key) || !KeyDefault(schema, key).is_null(); });
}

// Whether the element of a keyed list or set has a name there; nothing more can be said of the list
// if one has none.
bool Checker::CanBeElement(const Schema& schema, Value element, std::size_t index,
                           const std::string& path) {
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
  } else if (OmitsKeys(schema, element)) {
    const std::vector<std::string> keys(schema.list_map_keys.begin(), schema.list_map_keys.end());
    problem = base::StrCat("associative list with keys has an element that omits all key fields ",
                           base::GoQuotedList(keys),
                           " (and doesn't have default values for any key fields)");
  }
  if (problem.empty()) return true;
  Add(path, base::StrCat("element ", std::to_string(index), ": ", problem));
  return false;
}

void Checker::CheckList(const Schema& schema, Value value, const std::string& path) {
  if (!value.is_array()) {
    Add(path, base::StrCat("expected list, got &{", GoValueText(value), "}"));
    return;
  }
  const bool keyed = schema.list_type == ListType::kMap || schema.list_type == ListType::kSet;
  std::map<PathElement, bool> seen;
  std::size_t index = 0;
  for (const Value& element : value.elements()) {
    PathElement step = PathElement::Index(index++);
    if (IsForeign(element) && schema.list_type == ListType::kSet) {
      CheckForeign(*schema.element, element, path + "[={{undefined}}]");
      continue;
    }
    if (keyed) {
      if (!CanBeElement(schema, element, index - 1, path)) return;
      step = StepOf(schema, element);
      if (!seen.emplace(step, true).second) {
        Add(path, base::StrCat("duplicate entries for key ", ToText({step})));
      }
    }
    Check(schema.element, element, path + ToText({step}));
  }
}

void Checker::CheckMap(const Schema& schema, Value value, const std::string& path) {
  if (!value.is_object()) {
    Add(path, base::StrCat("expected map, got &{", GoValueText(value), "}"));
    return;
  }
  for (const json::Member& member : value.members()) {
    const std::string below = base::StrCat(path, ".", member.name());
    const schema::Field* field = schema.FindField(member.name());
    if (field != nullptr) {
      Check(field->schema, member.value, below);
    } else if (schema.kind == Kind::kMap) {
      Check(schema.element, member.value, below);
    } else if (!schema.preserve_unknown_fields) {
      Add(below, "field not declared in schema");
    }
  }
}

void Checker::Check(const Schema* schema, Value value, const std::string& path) {
  if (schema == nullptr || value.is_null()) return;
  if (IsForeign(value)) {
    CheckForeign(*schema, value, path);
  } else if (schema->kind == Kind::kArray) {
    CheckList(*schema, value, path);
  } else if (schema->kind == Kind::kStruct || schema->kind == Kind::kMap) {
    CheckMap(*schema, value, path);
  } else {
    CheckScalar(*schema, value, path);
  }
}

// --- comparing ---

struct Outcome {
  Comparison below;
  bool added = false;
  bool modified = false;
  bool removed = false;
};

using Nodes = std::vector<FieldSet::Node>;

void Attach(Nodes& nodes, const PathElement& step, bool member, FieldSet&& below) {
  if (!member && below.empty()) return;
  nodes.push_back({.element = step, .member = member, .below = std::move(below)});
}

// A comparison while its nodes are collected.
struct Draft {
  Nodes added;
  Nodes modified;
  Nodes removed;

  Comparison Finish() {
    return {FieldSet(std::move(added)), FieldSet(std::move(modified)),
            FieldSet(std::move(removed))};
  }
};

Outcome CompareAt(const Schema* schema, const Value* before, const Value* after);

// What lies below a value that is new: CompareAt() without anything to compare with.
FieldSet AllBelow(const Schema* schema, const Value& value) {
  std::vector<FieldSet::Node> nodes;
  if (value.empty()) return {};
  switch (ShapeOf(schema, value)) {
    case Shape::kLeaf:
      break;
    case Shape::kList: {
      Elements elements(*schema, &value);
      nodes.reserve(elements.size());
      for (Element& element : elements) {
        nodes.push_back({.element = std::move(element.step),
                         .member = true,
                         .below = AllBelow(ElementSchema(schema), element.value)});
      }
      break;
    }
    case Shape::kMap:
      nodes.reserve(value.size());
      for (const json::Member& member : value.members()) {
        nodes.push_back({.element = PathElement::Field(member.name()),
                         .member = true,
                         .below = AllBelow(ChildSchema(schema, member.name()), member.value)});
      }
      break;
  }
  return FieldSet(std::move(nodes));
}

void CompareChild(const PathElement& step, const Schema* schema, const Value* before,
                  const Value* after, Draft& out) {
  if (before == nullptr) return Attach(out.added, step, true, AllBelow(schema, *after));
  if (after != nullptr && before->IsSameAs(*after)) return;
  Outcome child = CompareAt(schema, before, after);
  Attach(out.added, step, child.added, std::move(child.below.added));
  Attach(out.modified, step, child.modified, std::move(child.below.modified));
  Attach(out.removed, step, child.removed, std::move(child.below.removed));
}

Outcome CompareAt(const Schema* schema, const Value* before, const Value* after) {
  Outcome out;
  Draft below;
  const Value& witness = after != nullptr && !after->is_null() ? *after
                         : before != nullptr                   ? *before
                                                               : *after;
  Shape shape = ShapeOf(schema, witness);
  const auto hollow = [](const Value* v) { return v == nullptr || v->empty(); };
  if (hollow(before) && hollow(after)) shape = Shape::kLeaf;
  if (before != nullptr && after != nullptr && before->is_object() != after->is_object() &&
      !before->is_null() && !after->is_null()) {
    shape = Shape::kLeaf;
  }
  if (shape == Shape::kLeaf) {
    out.modified = before != nullptr && after != nullptr && !(*before == *after);
  } else if (shape == Shape::kList) {
    const Elements lhs(*schema, before);
    const Elements rhs(*schema, after);
    for (const Element& element : lhs) {
      CompareChild(element.step, ElementSchema(schema), &element.value, rhs.Find(element.step),
                   below);
    }
    for (const Element& element : rhs) {
      if (lhs.Find(element.step) != nullptr) continue;
      CompareChild(element.step, ElementSchema(schema), nullptr, &element.value, below);
    }
  } else {
    if (before != nullptr) {
      for (const json::Member& member : before->members()) {
        CompareChild(PathElement::Field(member.name()), ChildSchema(schema, member.name()),
                     &member.value, after == nullptr ? nullptr : after->Find(member.name()), below);
      }
    }
    if (after != nullptr) {
      for (const json::Member& member : after->members()) {
        if (before != nullptr && before->Has(member.name())) continue;
        CompareChild(PathElement::Field(member.name()), ChildSchema(schema, member.name()), nullptr,
                     &member.value, below);
      }
    }
  }
  out.below = below.Finish();
  out.added = before == nullptr;
  out.removed = after == nullptr;
  return out;
}

// --- merging ---

Value MergeAt(json::Arena& arena, const Schema* schema, const Value* live, const Value* applied);

// Elements of `applied` keep their order; what only `live` has stays where it stood relative to the
// elements that both have.
Value MergeLists(json::Arena& arena, const Schema& schema, const Value& live,
                 const Value& applied) {
  const Elements lhs(schema, &live);
  const Elements rhs(schema, &applied);
  json::ArrayBuilder out(arena);
  std::size_t l = 0;
  std::size_t r = 0;
  const auto emit_live_only_until = [&](std::size_t end) {
    for (; l < end; ++l) {
      if (rhs.Find(lhs[l].step) == nullptr) out.Add(lhs[l].value);
    }
  };
  const auto emit_applied = [&] {
    const Value* old = lhs.Find(rhs[r].step);
    out.Add(MergeAt(arena, schema.element, old, &rhs[r].value));
    ++r;
  };
  for (std::size_t next = 0; next < rhs.size(); ++next) {
    const auto place = lhs.PlaceOf(rhs[next].step);
    if (!place) continue;
    emit_live_only_until(*place < l ? lhs.size() : *place);
    while (r <= next) emit_applied();
    if (*place == l) ++l;
  }
  emit_live_only_until(lhs.size());
  while (r < rhs.size()) emit_applied();
  return out.Build();
}

Value MergeAt(json::Arena& arena, const Schema* schema, const Value* live, const Value* applied) {
  if (applied == nullptr) return *live;
  if (live == nullptr || applied->is_null()) return *applied;
  switch (ShapeOf(schema, *applied)) {
    case Shape::kMap: {
      if (!applied->is_object() || !live->is_object()) return *applied;
      json::ObjectBuilder out(arena, *live);
      for (const json::Member& member : applied->members()) {
        out.Set(member.name(), MergeAt(arena, ChildSchema(schema, member.name()),
                                       live->Find(member.name()), &member.value));
      }
      return out.Build();
    }
    case Shape::kList:
      if (!applied->is_array() || !live->is_array()) return *applied;
      return MergeLists(arena, *schema, *live, *applied);
    case Shape::kLeaf:
      break;
  }
  return *applied;
}

}  // namespace

base::Status CheckTyped(const Schema& schema, Value object) {
  Checker checker(/*native=*/false);
  checker.Check(&schema, object, "");
  return checker.Outcome();
}

base::Status CheckTypedNative(const Schema& schema, Value object) {
  Checker checker(/*native=*/true);
  checker.Check(&schema, object, "");
  return checker.Outcome();
}

Value ForeignValue(json::Arena& arena, std::string_view go_type, std::string_view text,
                   std::string_view literal) {
  const auto copy = [&](std::string_view part) { return json::String(arena, part); };
  return json::MakeObject(arena,
                          {{kForeign, json::MakeObject(arena, {{"type", copy(go_type)},
                                                               {"text", copy(text)},
                                                               {"literal", copy(literal)}})}});
}

FieldSet FieldsOf(const Schema* schema, Value object) {
  Nodes nodes;
  switch (ShapeOf(schema, object)) {
    case Shape::kLeaf:
      break;
    case Shape::kList:
      for (const Element& element : Elements(*schema, &object)) {
        Attach(nodes, element.step, true, FieldsOf(ElementSchema(schema), element.value));
      }
      break;
    case Shape::kMap:
      for (const json::Member& member : object.members()) {
        const PathElement step = PathElement::Field(member.name());
        const Schema* child = ChildSchema(schema, member.name());
        const Shape shape = ShapeOf(child, member.value);
        const bool free_name = schema == nullptr || schema->FindField(member.name()) == nullptr;
        const bool hollow =
            member.value.is_null() || (member.value.is_object() && member.value.empty());
        Attach(nodes, step, shape == Shape::kLeaf || free_name || hollow,
               FieldsOf(child, member.value));
      }
      break;
  }
  return FieldSet(std::move(nodes));
}

Comparison Compare(const Schema* schema, Value before, Value after) {
  return CompareAt(schema, &before, &after).below;
}

Value MergeTyped(json::Arena& arena, const Schema* schema, Value live, Value applied) {
  return MergeAt(arena, schema, &live, &applied);
}

Value RemoveFields(json::Arena& arena, const Schema* schema, Value object, const FieldSet& fields) {
  if (fields.empty()) return object;
  const auto without = [&](const PathElement& step, const Schema* child, Value value) {
    const FieldSet* below = fields.Below(step);
    return below == nullptr ? value : RemoveFields(arena, child, value, *below);
  };
  switch (ShapeOf(schema, object)) {
    case Shape::kLeaf:
      return object;
    case Shape::kList: {
      if (object.empty()) return object;
      json::ArrayBuilder out(arena);
      for (const Value& element : object.elements()) {
        const PathElement step = StepOf(*schema, element);
        if (!fields.Has(step)) out.Add(without(step, ElementSchema(schema), element));
      }
      return out.size() == 0 ? Value() : out.Build();
    }
    case Shape::kMap:
      break;
  }
  if (object.empty()) return object;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : object.members()) {
    const PathElement step = PathElement::Field(member.name());
    if (fields.Has(step)) continue;
    out.Set(member.name(), without(step, ChildSchema(schema, member.name()), member.value));
  }
  return out.empty() ? Value() : out.Build();
}

FieldSet WithNamedFields(const Schema* schema, const FieldSet& fields) {
  Nodes nodes;
  for (const FieldSet::Node& node : fields.nodes()) {
    const bool field = node.element.kind == PathElement::Kind::kField;
    const bool named =
        field && schema != nullptr && schema->FindField(node.element.text) != nullptr;
    const Schema* child = field ? ChildSchema(schema, node.element.text) : ElementSchema(schema);
    Attach(nodes, node.element, node.member || named, WithNamedFields(child, node.below));
  }
  return FieldSet(std::move(nodes));
}

}  // namespace portcullis::api::patch
