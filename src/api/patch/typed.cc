// SPDX-License-Identifier: Apache-2.0

#include "api/patch/typed.h"

#include <algorithm>
#include <vector>

#include "api/patch/go_value.h"
#include "api/patch/list_elements.h"
#include "api/schema/sent_forms.h"
#include "json/sorted.h"

namespace portcullis::api::patch {

bool TakesAny(const schema::Schema* schema) {
  if (schema == nullptr) return true;
  const bool custom = schema->go_type.empty();
  return schema->kind == schema::Kind::kAny ? custom || schema->preserve_unknown_fields
                                            : custom && schema->kind == schema::Kind::kIntOrString;
}

namespace {
using json::Value;
using schema::Kind;
using schema::ListType;
using schema::MapType;
using schema::Schema;

enum class Shape { kLeaf, kList, kMap };

// How a value at a place with this schema is treated.
Shape ShapeOf(const Schema* schema, Value value) {
  if (TakesAny(schema)) return value.is_object() ? Shape::kMap : Shape::kLeaf;
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

const Schema* ChildSchema(const Schema* schema, std::string_view name, std::uint32_t hash) {
  if (schema == nullptr) return nullptr;
  if (const schema::Field* field = schema->FindField(name, hash)) return field->schema;
  return schema->kind == Kind::kMap ? schema->element : nullptr;
}

const Schema* ChildSchema(const Schema* schema, const json::Member& member) {
  return ChildSchema(schema, member.name(), member.hash);
}

const Schema* ElementSchema(const Schema* schema) {
  return schema == nullptr ? nullptr : schema->element;
}

struct Outcome {
  Comparison below;
  bool added = false;
  bool modified = false;
  bool removed = false;
};

using Nodes = std::vector<FieldSet::Node>;
using Values = std::vector<Value>;

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
    return {FieldSet(std::move(added)), FieldSet(std::move(modified)), FieldSet(std::move(removed)),
            false};
  }
};

class Comparer {
 public:
  Outcome CompareAt(const Schema* schema, const Value* before, const Value* after, Value sent = {});
  // An element of a keyed list or set has no name there, so that nothing in it can be owned.
  bool nameless() const { return nameless_; }

 private:
  FieldSet AllBelow(const Schema* schema, const Value& value);
  void CompareChild(const PathElement& step, const Schema* schema, const Value* before,
                    const Value* after, Draft& out, Value sent = {});
  void CompareElements(const Schema& schema, const Value* before, const Value* after, Draft& out);
  void CompareRepeated(const PathElement& step, const Schema* schema, const Elements& before,
                       const Elements& after, Draft& out);
  void CompareMembers(const Schema* schema, const Value* before, const Value* after, Value sent,
                      Draft& out);

  bool nameless_ = false;
};

// Whether an element of a list in `sent` has an empty list or map that `after` leaves out, or a quantity that
// `after` writes otherwise. Elements of lists are compared as Go values, other lists and maps by what they hold.
bool LosesForm(const Schema* schema, Value sent, Value after) {
  return schema::AnySent(schema, sent, after, [](const schema::SentForm& form) {
    return form.in_list &&
           ((form.is_empty() && form.decoded.is_null()) || form.is_rewritten_quantity());
  });
}

// All fields below a new value: CompareAt() without an old value.
FieldSet Comparer::AllBelow(const Schema* schema, const Value& value) {
  std::vector<FieldSet::Node> nodes;
  if (value.empty()) return {};
  switch (ShapeOf(schema, value)) {
    case Shape::kLeaf:
      break;
    case Shape::kList: {
      Elements elements(*schema, &value);
      nameless_ = nameless_ || elements.nameless();
      nodes.reserve(elements.size());
      for (Element& element : elements) {
        const bool repeated = elements.Repeats(element.step) != nullptr;
        FieldSet below = repeated ? FieldSet() : AllBelow(ElementSchema(schema), element.value);
        nodes.push_back(
            {.element = std::move(element.step), .member = true, .below = std::move(below)});
      }
      break;
    }
    case Shape::kMap:
      nodes.reserve(value.size());
      for (const json::Member& member : value.members()) {
        nodes.push_back({.element = PathElement::Field(member.name()),
                         .member = true,
                         .below = AllBelow(ChildSchema(schema, member), member.value)});
      }
      break;
  }
  return FieldSet(std::move(nodes));
}

void Comparer::CompareChild(const PathElement& step, const Schema* schema, const Value* before,
                            const Value* after, Draft& out, Value sent) {
  if (before == nullptr) return Attach(out.added, step, true, AllBelow(schema, *after));
  if (after != nullptr && before->IsSameAs(*after)) return;
  Outcome child = CompareAt(schema, before, after, sent);
  Attach(out.added, step, child.added, std::move(child.below.added));
  Attach(out.modified, step, child.modified, std::move(child.below.modified));
  Attach(out.removed, step, child.removed, std::move(child.below.removed));
}

// Elements of one name are one leaf; what is in them has no owner.
void Comparer::CompareRepeated(const PathElement& step, const Schema* schema,
                               const Elements& before, const Elements& after, Draft& out) {
  const Values* const old = before.Repeats(step);
  const Values* const now = after.Repeats(step);
  if (old != nullptr && now != nullptr) {
    if (*old != *now) Attach(out.modified, step, true, {});
  } else if (old != nullptr) {
    if (const Value* one = after.Find(step)) CompareChild(step, schema, nullptr, one, out);
    Attach(out.removed, step, true, {});
  } else {
    if (const Value* one = before.Find(step)) CompareChild(step, schema, one, nullptr, out);
    Attach(out.added, step, true, {});
  }
}

void Comparer::CompareElements(const Schema& schema, const Value* before, const Value* after,
                               Draft& out) {
  const Elements lhs(schema, before);
  const Elements rhs(schema, after);
  nameless_ = nameless_ || lhs.nameless() || rhs.nameless();
  const auto compare = [&](const PathElement& step) {
    if (lhs.Repeats(step) != nullptr || rhs.Repeats(step) != nullptr) {
      CompareRepeated(step, schema.element, lhs, rhs, out);
    } else {
      CompareChild(step, schema.element, lhs.Find(step), rhs.Find(step), out);
    }
  };
  for (const Element& element : lhs) compare(element.step);
  for (const Element& element : rhs) {
    if (lhs.Find(element.step) == nullptr) compare(element.step);
  }
}

void Comparer::CompareMembers(const Schema* schema, const Value* before, const Value* after,
                              Value sent, Draft& out) {
  if (before != nullptr) {
    for (const json::Member& member : before->members()) {
      CompareChild(PathElement::Field(member.name()), ChildSchema(schema, member), &member.value,
                   after == nullptr ? nullptr : after->Find(member.name()), out,
                   sent[member.name()]);
    }
  }
  if (after == nullptr) return;
  for (const json::Member& member : after->members()) {
    if (before != nullptr && before->Has(member.name())) continue;
    CompareChild(PathElement::Field(member.name()), ChildSchema(schema, member), nullptr,
                 &member.value, out);
  }
}

Outcome Comparer::CompareAt(const Schema* schema, const Value* before, const Value* after,
                            Value sent) {
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
    // A map that takes the place of something else, or the other way round, where any type may be.
    out.modified = true;
    CompareMembers(schema, before->is_object() ? before : nullptr,
                   after->is_object() ? after : nullptr, {}, below);
  } else if (shape == Shape::kLeaf) {
    out.modified = before != nullptr && after != nullptr &&
                   (!IsEqualInGo(*before, *after) || LosesForm(schema, sent, *after));
  } else if (shape == Shape::kList) {
    CompareElements(*schema, before, after, below);
  } else {
    CompareMembers(schema, before, after, sent, below);
  }
  out.below = below.Finish();
  out.added = before == nullptr;
  out.removed = after == nullptr;
  return out;
}

// --- a new object ---

class NewFields {
 public:
  explicit NewFields(json::Arena& arena) : arena_(arena), nothing_(json::MakeObject(arena, {})) {}

  // The fields that are new below a map that `before` has, too.
  Value Since(const Schema* schema, const Value& before, const Value& value, const Value& sent,
              const NotOwned& not_owned) {
    json::ObjectBuilder out(arena_);
    ForEachByName(value, [&](const json::Member& one) {
      const Value* old = before.Find(one.name(), one.hash);
      const PathElement step = PathElement::Field(one.name());
      const Schema* child = ChildSchema(schema, one);
      if (old == nullptr) {
        AddOwned(out, false, step, child, one.value, not_owned);
      } else if (!old->IsSameAs(one.value)) {
        AddChanged(out, step, child, {*old, one.value, sent[one.name()]}, not_owned);
      }
    });
    return out.Build();
  }
  // Whether all of it could be told.
  bool complete() const { return complete_; }

 private:
  // A place that was there before, with Compare()'s `sent`.
  struct Change {
    const Value& before;
    const Value& value;
    const Value& sent;
  };

  // Visits the members of a map in order of their names.
  template <typename Visit>
  void ForEachByName(const Value& map, const Visit& visit) {
    const std::size_t first = by_name_.size();
    json::AppendMembersByName(map, by_name_);
    for (std::size_t i = 0; i < map.size(); ++i) visit(*by_name_[first + i]);
    by_name_.resize(first);
  }

  // Adds the fields that changed at a step that both values have, as Comparer::CompareAt() does.
  void AddChanged(json::ObjectBuilder& out, const PathElement& step, const Schema* schema,
                  const Change& change, const NotOwned& not_owned) {
    const auto& [before, value, sent] = change;
    if (not_owned.IsReset(step)) return Skip(schema, value);
    const Shape shape = ShapeOf(schema, value.is_null() ? before : value);
    const bool is_leaf = shape == Shape::kLeaf || (before.empty() && value.empty());
    Value below;
    if (is_leaf) {
      if (before == value && !LosesForm(schema, sent, value)) return;
      if (not_owned.IsStripped(step)) return;
      below = nothing_;
    } else if (shape == Shape::kList) {
      complete_ = complete_ && before.empty();
      below = BelowList(*schema, value, false, not_owned.Below(step));
    } else {
      complete_ = complete_ && (before.is_object() || before.is_null()) &&
                  (value.is_object() || value.is_null());
      below = Since(schema, before, value, sent, not_owned.Below(step));
    }
    if (is_leaf || !below.empty()) {
      Add(out, false, FieldKey(arena_, step.kind, step.text), below);
    }
  }

  // All fields below a new value; `member`: the value itself is owned, too.
  Value Below(const Schema* schema, const Value& value, bool member, const NotOwned& not_owned) {
    if (value.empty()) return nothing_;
    switch (ShapeOf(schema, value)) {
      case Shape::kLeaf:
        break;
      case Shape::kList:
        return BelowList(*schema, value, member, not_owned);
      case Shape::kMap:
        return BelowMap(schema, value, member, not_owned);
    }
    return nothing_;
  }

  Value BelowMap(const Schema* schema, const Value& value, bool member, const NotOwned& not_owned) {
    json::ObjectBuilder out(arena_);
    ForEachByName(value, [&](const json::Member& one) {
      const Schema* child = ChildSchema(schema, one);
      if (not_owned.none()) {
        Add(out, member, FieldKey(arena_, PathElement::Kind::kField, one.name()),
            Below(child, one.value, true, {}));
      } else {
        AddOwned(out, member, PathElement::Field(one.name()), child, one.value, not_owned);
      }
    });
    return out.Build();
  }

  Value BelowList(const Schema& schema, const Value& value, bool member,
                  const NotOwned& not_owned) {
    const Elements elements(schema, &value);
    complete_ = complete_ && !elements.nameless();
    std::vector<const Element*> sorted;
    sorted.reserve(elements.size());
    for (const Element& element : elements) sorted.push_back(&element);
    std::sort(sorted.begin(), sorted.end(),
              [](const Element* a, const Element* b) { return a->step < b->step; });
    json::ObjectBuilder out(arena_);
    for (const Element* element : sorted) {
      const bool repeated = elements.Repeats(element->step) != nullptr;
      AddOwned(out, member, element->step, schema.element, repeated ? Value() : element->value,
               not_owned);
    }
    return out.Build();
  }

  void AddOwned(json::ObjectBuilder& out, bool member, const PathElement& step,
                const Schema* schema, const Value& value, const NotOwned& not_owned) {
    if (not_owned.IsReset(step)) return Skip(schema, value);
    const bool owned = !not_owned.IsStripped(step);
    const Value below = Below(schema, value, owned, not_owned.Below(step));
    if (owned || !below.empty()) Add(out, member, FieldKey(arena_, step.kind, step.text), below);
  }

  // What is reset is not owned, but an element without a name in it counts as anywhere.
  void Skip(const Schema* schema, const Value& value) { (void)Below(schema, value, true, {}); }

  void Add(json::ObjectBuilder& out, bool member, std::string_view key, Value below) {
    if (out.empty() && member) out.Add(".", nothing_);
    out.Add(key, below);
  }

  json::Arena& arena_;
  const Value nothing_;  // {}
  bool complete_ = true;
  std::vector<const json::Member*> by_name_;  // of the maps being walked, innermost last
};

// --- merging ---

Value MergeAt(json::Arena& arena, const Schema* schema, const Value* live, const Value* applied);

// Every element of a keyed list or set, those of one name included.
std::vector<Element> EveryElement(const Schema& schema, const Value& list) {
  std::vector<Element> all;
  all.reserve(list.size());
  for (const Value& element : list.elements()) all.push_back({StepOf(schema, element), element});
  return all;
}

// Elements of `applied` keep their order; what only `live` has stays where it stood relative to the
// elements that both have. Several of one name in `live` stay all, or give way to the one that is applied,
// which is not merged with any of them.
Value MergeLists(json::Arena& arena, const Schema& schema, const Value& live,
                 const Value& applied) {
  const std::vector<Element> lhs = EveryElement(schema, live);
  const Elements named(schema, &live);
  const Elements rhs(schema, &applied);
  json::ArrayBuilder out(arena);
  std::size_t l = 0;
  std::size_t r = 0;
  // The next place of the step from `l` on, else an earlier one.
  const auto place_of = [&](const PathElement& step) -> std::optional<std::size_t> {
    if (named.size() == lhs.size()) return named.PlaceOf(step);
    const auto is_it = [&](const Element& one) { return one.step == step; };
    const auto from = lhs.begin() + static_cast<std::ptrdiff_t>(l);
    auto found = std::find_if(from, lhs.end(), is_it);
    if (found == lhs.end()) {
      found = std::find_if(lhs.begin(), from, is_it);
      if (found == from) return std::nullopt;
    }
    return static_cast<std::size_t>(found - lhs.begin());
  };
  const auto emit_live_only_until = [&](std::size_t end) {
    for (; l < end; ++l) {
      if (rhs.Find(lhs[l].step) == nullptr) out.Add(lhs[l].value);
    }
  };
  const auto emit_applied = [&] {
    const PathElement& step = rhs[r].step;
    const Value* old = named.Repeats(step) != nullptr ? nullptr : named.Find(step);
    out.Add(MergeAt(arena, schema.element, old, &rhs[r].value));
    ++r;
  };
  for (std::size_t next = 0; next < rhs.size(); ++next) {
    const auto place = place_of(rhs[next].step);
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
  if (live == nullptr) return *applied;
  if (applied->is_null()) {
    // To a map or list that is merged a null is an empty one, which leaves what is there.
    return !live->empty() && ShapeOf(schema, *live) != Shape::kLeaf ? *live : *applied;
  }
  switch (ShapeOf(schema, *applied)) {
    case Shape::kMap: {
      if (!applied->is_object() || !live->is_object()) return *applied;
      json::ObjectBuilder out(arena, *live);
      for (const json::Member& member : applied->members()) {
        out.Set(member.name(), MergeAt(arena, ChildSchema(schema, member),
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
        const Schema* child = ChildSchema(schema, member);
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

Comparison Compare(const Schema* schema, Value before, Value after, Value sent) {
  Comparer comparer;
  Comparison out = comparer.CompareAt(schema, &before, &after, sent).below;
  out.nameless = comparer.nameless();
  return out;
}

std::optional<Value> FieldsOfNew(json::Arena& arena, const Schema& schema, Value empty,
                                 Value object, Value sent, const NotOwned& not_owned) {
  NewFields fields(arena);
  const Value since = fields.Since(&schema, empty, object, sent, not_owned);
  return fields.complete() ? std::optional(since) : std::nullopt;
}

Value MergeTyped(json::Arena& arena, const Schema* schema, Value live, Value applied) {
  return MergeAt(arena, schema, &live, &applied);
}

Value RemoveFields(json::Arena& arena, const Schema* schema, Value object, const FieldSet& fields) {
  if (fields.empty()) return object;
  // A container that loses all it holds stays, empty.
  const auto without = [&](const PathElement& step, const Schema* child, Value value) {
    const FieldSet* below = fields.Below(step);
    if (below == nullptr || below->empty()) return value;
    const Value left = RemoveFields(arena, child, value, *below);
    if (!left.is_null()) return left;
    if (value.is_object()) return json::MakeObject(arena, {});
    return value.is_array() ? json::MakeArray(arena, {}) : left;
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
    out.Set(member.name(), without(step, ChildSchema(schema, member), member.value));
  }
  return out.empty() ? Value() : out.Build();
}

namespace {

const Schema* SchemaBelow(const Schema* schema, const PathElement& step) {
  if (step.kind != PathElement::Kind::kField) return ElementSchema(schema);
  return ChildSchema(schema, step.text, json::HashKey(step.text));
}

// Whether the node owns something in what is one leaf by now.
bool IsInsideLeaf(const Schema* schema, const FieldSet::Node& node) {
  if (node.below.empty() || TakesAny(schema)) return false;
  switch (schema->kind) {
    case Kind::kStruct:
    case Kind::kMap:
      return schema->map_type == MapType::kAtomic;
    case Kind::kArray:
      return schema->list_type != ListType::kMap && schema->list_type != ListType::kSet;
    default:
      return false;
  }
}

bool HasInsideLeaf(const Schema* schema, const FieldSet& fields) {
  if (schema == nullptr) return false;
  const auto nodes = fields.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const FieldSet::Node& node) {
    const Schema* child = SchemaBelow(schema, node.element);
    return IsInsideLeaf(child, node) || HasInsideLeaf(child, node.below);
  });
}

FieldSet WithoutInsideOfLeaves(const Schema* schema, const FieldSet& fields) {
  if (schema == nullptr) return fields;
  Nodes nodes;
  for (const FieldSet::Node& node : fields.nodes()) {
    const Schema* child = SchemaBelow(schema, node.element);
    const bool inside = IsInsideLeaf(child, node);
    Attach(nodes, node.element, node.member || inside,
           inside ? FieldSet() : WithoutInsideOfLeaves(child, node.below));
  }
  return FieldSet(std::move(nodes));
}

}  // namespace

std::optional<FieldSet> Reconciled(const Schema& schema, const FieldSet& fields) {
  if (!HasInsideLeaf(&schema, fields)) return std::nullopt;
  return WithoutInsideOfLeaves(&schema, fields);
}

FieldSet WithNamedFields(const Schema* schema, const FieldSet& fields) {
  Nodes nodes;
  for (const FieldSet::Node& node : fields.nodes()) {
    const bool named = node.element.kind == PathElement::Kind::kField && schema != nullptr &&
                       schema->FindField(node.element.text) != nullptr;
    const Schema* child = SchemaBelow(schema, node.element);
    Attach(nodes, node.element, node.member || named, WithNamedFields(child, node.below));
  }
  return FieldSet(std::move(nodes));
}

}  // namespace portcullis::api::patch
