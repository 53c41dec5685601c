// SPDX-License-Identifier: Apache-2.0

// A patch is walked together with the object. Members of a map are merged one by one; a list is
// merged if its field has the patch strategy "merge" (elements are matched by the merge key, or by
// value if they are scalars) and replaced otherwise. After a list has been merged its elements are
// ordered: what the patch mentions stands in the patch's order (or that of `$setElementOrder`),
// what only the server has keeps its place among the others as well as it can.

#include "api/patch/strategic_merge.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/patch/go_value.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;
using Values = std::vector<Value>;

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr int kMaxDepth = 10000;

base::Status Error(std::string message) { return {base::Reason::kUnknown, std::move(message)}; }

// Patches that are wrong in themselves.
base::Status BadFormat(std::string_view of) {
  return base::BadRequest(base::StrCat("invalid patch format of ", of));
}

// Lists that are merged have elements of one type, which is no list.
base::Status CheckElementTypes(Value live, Value patch) {
  const Value* first = nullptr;
  for (const Value* list : {&live, &patch}) {
    for (const Value& element : list->elements()) {
      if (first == nullptr) first = &element;
      if (first->is_array()) {
        return base::Status(base::Reason::kInvalid,
                            "the server rejected our request due to an error in our request",
                            base::StatusDetails{});
      }
      if (first->type() == element.type()) continue;
      return Error(base::StrCat("list element types are not identical: [", GoValueText(live), " ",
                                GoValueText(patch), "]"));
    }
  }
  return base::OkStatus();
}

// Go's %s of a value that is no string tells its type besides.
std::string AsGoString(Value value) {
  if (value.is_null()) return "%!s(<nil>)";
  if (value.is_string() || value.is_object() || value.is_array()) return GoValueText(value);
  return base::StrCat("%!s(", GoTypeName(value), "=", GoValueText(value), ")");
}

base::Status UnknownDirective(Value directive, Value map) {
  return Error(
      base::StrCat("unknown patch type: ", AsGoString(directive), " in map: ", GoValueText(map)));
}

base::Status NoMergeKey(Value map, std::string_view key) {
  return Error(
      base::StrCat("map: ", GoValueText(map), " does not contain declared merge key: ", key));
}

bool IsDirective(std::string_view name) {
  return name == kDirective || name == kRetainKeys || name.starts_with(kDeleteFromList) ||
         name.starts_with(kElementOrder);
}

// What the schema says of one field: its type, and how a list or map of it is patched.
struct FieldRule {
  const schema::Schema* schema = nullptr;
  std::string_view merge_key;
  bool merge = false;
  bool replace = false;
};

FieldRule RuleOf(const schema::Schema* schema, std::string_view name) {
  FieldRule rule;
  if (schema == nullptr) return rule;
  if (const schema::Field* field = schema->FindField(name)) {
    rule.schema = field->schema;
    rule.merge_key = field->patch_merge_key();
    rule.merge = field->patch_merge;
    rule.replace = field->patch_replace;
  } else if (schema->kind == schema::Kind::kMap) {
    rule.schema = schema->element;
  }
  return rule;
}

const schema::Schema* ElementSchema(const schema::Schema* schema) {
  return schema != nullptr && schema->kind == schema::Kind::kArray ? schema->element : nullptr;
}

// Elements are the same if they agree in the merge key, or in value where there is none.
bool SameElement(Value a, Value b, std::string_view merge_key) {
  if (merge_key.empty()) return a == b;
  const Value* x = a.Find(merge_key);
  const Value* y = b.Find(merge_key);
  return x != nullptr && y != nullptr && GoValueText(*x) == GoValueText(*y);
}

// Where each element of a list stands first.
class ElementIndex {
 public:
  explicit ElementIndex(std::string_view merge_key) : merge_key_(merge_key) {}
  ElementIndex(std::span<const Value> list, std::string_view merge_key) : merge_key_(merge_key) {
    for (const Value& element : list) Add(element);
  }

  // The next element of the list.
  void Add(Value element) {
    if (auto text = TextOf(element)) places_.try_emplace(*std::move(text), size_);
    ++size_;
  }
  // The place of the first element that is the same.
  std::optional<std::size_t> Find(Value element) const {
    const auto text = TextOf(element);
    const auto found = text ? places_.find(*text) : places_.end();
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  bool Has(Value element) const { return Find(element).has_value(); }
  std::size_t size() const { return size_; }

 private:
  // Equal for elements that are the same; none for those without the merge key.
  std::optional<std::string> TextOf(Value element) const {
    if (merge_key_.empty()) {
      return base::StrCat(std::to_string(static_cast<int>(element.type())),
                          json::ToString(element, {.sort_keys = true}));
    }
    const Value* key = element.Find(merge_key_);
    return key == nullptr ? std::nullopt : std::optional(GoValueText(*key));
  }

  std::string_view merge_key_;
  std::map<std::string, std::size_t> places_;
  std::size_t size_ = 0;
};

// Orders `list` by where its elements stand in `order`; those that do not stand there come last.
void SortBy(Values& list, const ElementIndex& order) {
  std::vector<std::pair<std::size_t, Value>> ranked;
  ranked.reserve(list.size());
  for (const Value& element : list) {
    ranked.emplace_back(order.Find(element).value_or(order.size()), element);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = ranked[i].second;
}

// The elements of `merged` in their final order; see the head of this file.
Values InOrder(const Values& merged, std::span<const Value> wanted, std::span<const Value> live,
               std::string_view merge_key) {
  const ElementIndex by_wanted(wanted, merge_key);
  const ElementIndex by_live(live, merge_key);
  Values mentioned;
  Values server_only;
  for (const Value& element : merged) {
    (by_wanted.Has(element) ? mentioned : server_only).push_back(element);
  }
  SortBy(mentioned, by_wanted);
  SortBy(server_only, by_live);
  // Each server-only element goes in front of the first mentioned one that stood behind it.
  Values out;
  std::size_t next = 0;
  for (const Value& element : mentioned) {
    const auto place = by_live.Find(element);
    while (next < server_only.size() && place) {
      const auto own = by_live.Find(server_only[next]);
      if (!own || *own >= *place) break;
      out.push_back(server_only[next++]);
    }
    out.push_back(element);
  }
  out.insert(out.end(), server_only.begin() + static_cast<std::ptrdiff_t>(next), server_only.end());
  return out;
}

// A map while a patch is merged into it; members are removed all at once, at the end.
class MapDraft {
 public:
  MapDraft(json::Arena& arena, Value base) : arena_(arena), members_(arena, base) {}

  const Value* Find(std::string_view name) const {
    return removed_.contains(name) ? nullptr : members_.Find(name);
  }
  void Set(std::string_view name, Value value) {
    removed_.erase(name);
    members_.Set(name, value);
  }
  void Remove(std::string_view name) { removed_.insert(name); }

  Value Build() {
    const Value all = members_.Build();
    if (removed_.empty()) return all;
    std::vector<json::Member> kept;
    for (const json::Member& member : all.members()) {
      if (!removed_.contains(member.name())) kept.push_back(member);
    }
    return json::MakeObject(arena_, kept);
  }

 private:
  json::Arena& arena_;
  json::ObjectBuilder members_;
  std::set<std::string_view> removed_;
};

class Merger {
 public:
  explicit Merger(json::Arena& arena) : arena_(arena) {}

  base::Result<Value> MergeMap(const schema::Schema* schema, Value object, Value patch, int depth);

 private:
  base::Result<Values> MergeElements(const schema::Schema* list, Values live, Value patch,
                                     std::string_view merge_key, int depth);
  base::Result<Value> MergeList(const FieldRule& rule, Value live, Value patch, int depth);
  base::Result<Value> MergeField(const FieldRule& rule, Value live, Value patch, int depth);
  base::Status RetainKeys(MapDraft& out, Value object, Value patch);
  base::Status ApplyOrdered(const schema::Schema* schema, MapDraft& out, Value patch,
                            std::string_view field, Value order, int depth);
  // A patch for something that does not exist yet: the same without nulls and directives.
  Value Fresh(Value patch);
  Value Array(const Values& values) { return json::MakeArray(arena_, values); }

  json::Arena& arena_;
};

Value Merger::Fresh(Value patch) {
  if (patch.is_array()) {
    json::ArrayBuilder out(arena_);
    for (const Value& element : patch.elements()) {
      if (element.is_object() && element.Has(kDirective)) continue;
      out.Add(Fresh(element));
    }
    return out.Build();
  }
  if (!patch.is_object()) return patch;
  json::ObjectBuilder out(arena_);
  for (const json::Member& member : patch.members()) {
    if (IsDirective(member.name()) || member.value.is_null()) continue;
    if (member.value.Has(kDirective)) continue;
    out.Set(member.name(), Fresh(member.value));
  }
  return out.Build();
}

base::Status Merger::RetainKeys(MapDraft& out, Value object, Value patch) {
  const Value* retain = patch.Find(kRetainKeys);
  if (retain == nullptr) return base::OkStatus();
  if (!retain->is_array()) return BadFormat("retainKeys");
  std::set<std::string_view> names;
  for (const Value& name : retain->elements()) {
    if (name.is_string()) names.insert(name.AsString());
  }
  const auto retained = [&](std::string_view name) { return names.contains(name); };
  for (const json::Member& member : patch.members()) {
    if (IsDirective(member.name()) || member.value.is_null()) continue;
    if (!retained(member.name())) return BadFormat("retainKeys");
  }
  for (const json::Member& member : object.members()) {
    if (!retained(member.name())) out.Remove(member.name());
  }
  return base::OkStatus();
}

base::Result<Values> Merger::MergeElements(const schema::Schema* list, Values live, Value patch,
                                           std::string_view merge_key, int depth) {
  bool replace = false;
  Values patches;
  ElementIndex gone(merge_key);
  for (const Value& element : patch.elements()) {
    const Value* directive = element.Find(kDirective);
    if (directive == nullptr) {
      patches.push_back(element);
    } else if (directive->AsString() == "delete") {
      if (!element.Has(merge_key)) return NoMergeKey(element, merge_key);
      gone.Add(element);
    } else if (directive->AsString() == "replace") {
      replace = true;
    } else if (directive->AsString() == "merge") {
      return Error("merging lists cannot yet be specified in the patch");
    } else {
      return UnknownDirective(*directive, element);
    }
  }
  if (replace) {
    for (Value& element : patches) element = Fresh(element);
    return patches;
  }
  std::erase_if(live, [&](const Value& element) { return gone.Has(element); });
  ElementIndex index(live, merge_key);
  for (const Value& element : patches) {
    if (!element.Has(merge_key)) return NoMergeKey(element, merge_key);
    const auto at = index.Find(element);
    if (!at) {
      live.push_back(Fresh(element));
      index.Add(live.back());
    } else {
      live[*at] = TRY(MergeMap(ElementSchema(list), live[*at], element, depth + 1));
    }
  }
  return live;
}

// A list of a field with patch strategy "merge".
base::Result<Value> Merger::MergeList(const FieldRule& rule, Value live, Value patch, int depth) {
  TRY(CheckElementTypes(live, patch));
  Values values(live.elements().begin(), live.elements().end());
  const bool of_maps = !patch.empty() ? patch[0].is_object() : !live.empty() && live[0].is_object();
  if (!of_maps) {
    ElementIndex index(values, {});
    for (const Value& element : patch.elements()) {
      if (index.Has(element)) continue;
      values.push_back(element);
      index.Add(element);
    }
    return Array(InOrder(values, patch.elements(), live.elements(), {}));
  }
  if (rule.merge_key.empty()) {
    return Error(base::StrCat("cannot merge lists without merge key for ",
                              rule.schema ? rule.schema->go_type : std::string_view()));
  }
  Values merged = TRY(MergeElements(rule.schema, std::move(values), patch, rule.merge_key, depth));
  return Array(InOrder(merged, patch.elements(), live.elements(), rule.merge_key));
}

base::Result<Value> Merger::MergeField(const FieldRule& rule, Value live, Value patch, int depth) {
  if (live.is_object() && patch.is_object()) {
    if (rule.replace) return Fresh(patch);
    return MergeMap(rule.schema, live, patch, depth + 1);
  }
  if (live.is_array() && patch.is_array() && rule.merge) {
    return MergeList(rule, live, patch, depth + 1);
  }
  return patch;
}

// A list that comes with an order must mention its elements in it.
base::Status CheckOrder(std::string_view merge_key, Value list, Value order) {
  if (list.empty() || order.empty()) return base::OkStatus();
  const std::span<const Value> wanted = order.elements();
  std::size_t next = 0;
  for (const Value& element : list.elements()) {
    const std::string_view directive = element[kDirective].AsString();
    if (directive == "delete" && !merge_key.empty()) continue;
    bool found = false;
    while (!found && next < wanted.size()) {
      if (!directive.empty()) break;
      for (const Value& side : {element, wanted[next]}) {
        if (!merge_key.empty() && !side.Has(merge_key)) return NoMergeKey(side, merge_key);
      }
      found = SameElement(element, wanted[next++], merge_key);
    }
    if (found || (!directive.empty() && next < wanted.size())) continue;
    return Error(base::StrCat("The order in patch list:\n", GoValueText(list),
                              "\n doesn't match $setElementOrder list:\n", GoValueText(order),
                              "\n"));
  }
  return base::OkStatus();
}

// What stands where Go wants a list.
base::Status NoList(Value value) {
  constexpr std::string_view kTypes[] = {"%!s(<nil>)",
                                         "bool",
                                         "int64",
                                         "float64",
                                         "string",
                                         "[]interface {}",
                                         "map[string]interface {}"};
  return Error(base::StrCat("expected a []interface {}, but received a ",
                            kTypes[static_cast<std::size_t>(value.type())]));
}

// `$setElementOrder/<field>`, together with the list and its deletions.
base::Status Merger::ApplyOrdered(const schema::Schema* schema, MapDraft& out, Value patch,
                                  std::string_view field, Value order, int depth) {
  if (!order.is_array()) return NoList(order);
  const FieldRule rule = RuleOf(schema, field);
  const Value* live = out.Find(field);
  const Value* list = patch.Find(field);
  if (live != nullptr && !live->is_array()) return NoList(*live);
  if (list != nullptr) {
    if (!list->is_array()) return NoList(*list);
    TRY(CheckOrder(rule.merge_key, *list, order));
  }
  const std::string deletions = base::StrCat(kDeleteFromList, field);
  Value merged;
  if (live != nullptr && list != nullptr && live->is_array() && list->is_array() && rule.merge) {
    merged = TRY(MergeList(rule, *live, *list, depth + 1));
  } else if (list != nullptr) {
    merged = Fresh(*list);
  } else if (live != nullptr) {
    merged = *live;
  } else {
    return base::OkStatus();
  }
  Values values(merged.elements().begin(), merged.elements().end());
  const ElementIndex gone(patch[deletions].elements(), {});
  std::erase_if(values, [&](const Value& element) { return gone.Has(element); });
  const bool of_maps = !values.empty() && values[0].is_object();
  const std::string_view key = of_maps ? rule.merge_key : std::string_view();
  const std::span<const Value> before =
      live != nullptr ? live->elements() : std::span<const Value>();
  out.Set(field, Array(InOrder(values, order.elements(), before, key)));
  return base::OkStatus();
}

base::Result<Value> Merger::MergeMap(const schema::Schema* schema, Value object, Value patch,
                                     int depth) {
  if (depth > kMaxDepth) return Error("exceeded max depth");
  if (const Value* directive = patch.Find(kDirective)) {
    const std::string_view text = directive->AsString();
    if (text == "replace") return Fresh(json::Without(arena_, patch, kDirective));
    if (text == "delete") return json::MakeObject(arena_, {});
    return UnknownDirective(*directive, patch);
  }
  MapDraft out(arena_, object);
  TRY(RetainKeys(out, object, patch));
  std::set<std::string_view> ordered;
  for (const json::Member& member : patch.members()) {
    if (!member.name().starts_with(kElementOrder)) continue;
    const std::string_view field = member.name().substr(kElementOrder.size());
    ordered.insert(field);
    TRY(ApplyOrdered(schema, out, patch, field, member.value, depth));
  }
  const auto done = [&](std::string_view field) { return ordered.contains(field); };
  for (const json::Member& member : patch.members()) {
    const std::string_view name = member.name();
    if (name.starts_with(kDeleteFromList)) {
      const std::string_view field = name.substr(kDeleteFromList.size());
      const Value* live = out.Find(field);
      if (done(field) || live == nullptr) continue;
      if (member.value.is_null()) out.Remove(field);
      if (!member.value.is_array() || !live->is_array()) continue;
      const ElementIndex gone(member.value.elements(), {});
      Values kept(live->elements().begin(), live->elements().end());
      std::erase_if(kept, [&](const Value& element) { return gone.Has(element); });
      out.Set(field, Array(kept));
      continue;
    }
    if (IsDirective(name) || done(name)) continue;
    const Value* live = out.Find(name);
    if (member.value.is_null()) {
      out.Remove(name);
    } else if (live == nullptr || GoTypeName(*live) != GoTypeName(member.value)) {
      // A map with a directive is none to put there.
      out.Remove(name);
      if (!member.value.Has(kDirective)) out.Set(name, Fresh(member.value));
    } else {
      out.Set(name, TRY(MergeField(RuleOf(schema, name), *live, member.value, depth)));
    }
  }
  return out.Build();
}

}  // namespace

base::Result<Value> StrategicMerge(json::Arena& arena, const schema::Schema& schema, Value object,
                                   Value patch) {
  return Merger(arena).MergeMap(&schema, object, patch, 0);
}

}  // namespace portcullis::api::patch
