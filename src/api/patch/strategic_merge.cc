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
#include "api/patch/strategic_fields.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using json::Value;
using Values = std::vector<Value>;

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList";
constexpr std::string_view kElementOrder = "$setElementOrder";
constexpr int kMaxDepth = 10000;

base::Status BadPatch(std::string message) { return {base::Reason::kUnknown, std::move(message)}; }

// Patches that are wrong in themselves.
base::Status BadFormat(std::string_view of) {
  return base::BadRequest(base::StrCat("invalid patch format of ", of));
}

// Go's %s of the type of a value: %s of a type is its name, that of no type is not.
std::string TypeText(Value value) {
  return value.is_null() ? "%!s(<nil>)" : std::string(GoTypeName(value));
}

base::Status NoMap(Value value) {
  return BadPatch(
      base::StrCat("expected a map[string]interface {}, but received a ", TypeText(value)));
}

base::Status NoList(Value value) {
  return BadPatch(base::StrCat("expected a []interface {}, but received a ", TypeText(value)));
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
      return BadPatch(base::StrCat("list element types are not identical: [", GoValueText(live),
                                   " ", GoValueText(patch), "]"));
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
  return BadPatch(
      base::StrCat("unknown patch type: ", AsGoString(directive), " in map: ", GoValueText(map)));
}

base::Status NoMergeKey(Value map, std::string_view key) {
  return BadPatch(
      base::StrCat("map: ", GoValueText(map), " does not contain declared merge key: ", key));
}

base::Status CheckMergeKey(Value element, std::string_view key) {
  if (!element.is_object()) return NoMap(element);
  return element.Has(key) ? base::OkStatus() : NoMergeKey(element, key);
}

// "x" of "$setElementOrder/x"; `of` names the directive in the error.
base::Result<std::string_view> FieldOf(std::string_view name, std::string_view prefix,
                                       std::string_view of) {
  const std::string_view rest = name.substr(prefix.size());
  if (!rest.starts_with('/')) return BadFormat(of);
  return rest.substr(1);
}

// Elements are the same if they agree in the merge key, or in value where there is none.
bool SameElement(Value a, Value b, std::string_view merge_key) {
  if (merge_key.empty()) return a == b;
  const Value* x = a.Find(merge_key);
  const Value* y = b.Find(merge_key);
  return x != nullptr && y != nullptr && x->type() == y->type() && *x == *y;
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
    const Value* key = merge_key_.empty() ? &element : element.Find(merge_key_);
    if (key == nullptr) return std::nullopt;
    return base::StrCat(std::to_string(static_cast<int>(key->type())),
                        json::ToString(*key, {.sort_keys = true}));
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

// A patch of which the directives are removed: what is put into the object, if anything, and what
// the patch has become by that, since Go's maps are changed in place and its lists are not.
struct Cleaned {
  std::optional<Value> kept;
  Value patch;
};

class Merger {
 public:
  explicit Merger(json::Arena& arena) : arena_(arena) {}

  base::Result<StrategicMerged> MergeMap(const GoType& type, Value object, Value patch, int depth);

 private:
  base::Result<StrategicMerged> MergeElements(const FieldRule& rule, Value live, Value patch,
                                              int depth);
  base::Result<StrategicMerged> MergeList(const FieldRule& rule, Value live, Value patch,
                                          int depth);
  base::Status RetainKeys(MapDraft& out, MapDraft& left, Value object, Value patch);
  base::Status MergeOrdered(const GoType& type, MapDraft& out, MapDraft& left, Value patch,
                            const json::Member& order, int depth);
  base::Status MergeMember(const GoType& type, MapDraft& out, MapDraft& left,
                           const json::Member& member, int depth);
  Value WithoutNulls(Value patch);
  Cleaned WithoutDirectives(Value patch);
  Value Without(Value list, Value gone);
  Value Array(const Values& values) { return json::MakeArray(arena_, values); }

  json::Arena& arena_;
};

// Without members that are null, at any depth.
Value Merger::WithoutNulls(Value patch) {
  if (patch.is_array()) {
    json::ArrayBuilder out(arena_);
    for (const Value& element : patch.elements()) out.Add(WithoutNulls(element));
    return out.Build();
  }
  if (!patch.is_object()) return patch;
  json::ObjectBuilder out(arena_);
  for (const json::Member& member : patch.members()) {
    if (!member.value.is_null()) out.Set(member.name(), WithoutNulls(member.value));
  }
  return out.Build();
}

// Only `$patch` counts, with the map that has it.
Cleaned Merger::WithoutDirectives(Value patch) {
  if (patch.is_array()) {
    json::ArrayBuilder kept(arena_);
    json::ArrayBuilder left(arena_);
    for (const Value& element : patch.elements()) {
      const Cleaned cleaned = WithoutDirectives(element);
      if (cleaned.kept) kept.Add(*cleaned.kept);
      left.Add(cleaned.patch);
    }
    return {kept.Build(), left.Build()};
  }
  if (!patch.is_object()) return {patch, patch};
  if (patch.Has(kDirective)) return {std::nullopt, patch};
  json::ObjectBuilder out(arena_);
  for (const json::Member& member : patch.members()) {
    const Cleaned cleaned = WithoutDirectives(member.value);
    if (cleaned.kept) out.Set(member.name(), *cleaned.kept);
  }
  const Value kept = out.Build();
  return {kept, kept};
}

// A list of scalars without those that another list has.
Value Merger::Without(Value list, Value gone) {
  const ElementIndex index(gone.elements(), {});
  Values kept(list.elements().begin(), list.elements().end());
  std::erase_if(kept, [&](const Value& element) { return index.Has(element); });
  return Array(kept);
}

base::Status Merger::RetainKeys(MapDraft& out, MapDraft& left, Value object, Value patch) {
  const Value* retain = patch.Find(kRetainKeys);
  if (retain == nullptr) return base::OkStatus();
  left.Remove(kRetainKeys);
  if (!retain->is_array()) return BadFormat("retainKeys");
  std::set<std::string_view> names;
  for (const Value& name : retain->elements()) {
    if (name.is_string()) names.insert(name.AsString());
  }
  for (const json::Member& member : patch.members()) {
    const std::string_view name = member.name();
    if (name == kRetainKeys || member.value.is_null() || name.starts_with(kDeleteFromList) ||
        name.starts_with(kElementOrder)) {
      continue;
    }
    if (!names.contains(name)) return BadFormat("retainKeys");
  }
  for (const json::Member& member : object.members()) {
    if (!names.contains(member.name())) out.Remove(member.name());
  }
  return base::OkStatus();
}

// Lists of maps. What the merge adds is the patch's own element, nulls and directives and all.
base::Result<StrategicMerged> Merger::MergeElements(const FieldRule& rule, Value live, Value patch,
                                                    int depth) {
  const std::string_view key = rule.merge_key;
  bool replace = false;
  Values patches;
  Values left(patch.elements().begin(), patch.elements().end());
  std::vector<std::size_t> places;  // of `patches`, in `left`
  ElementIndex gone(key);
  for (std::size_t place = 0; place < left.size(); ++place) {
    const Value* directive = left[place].Find(kDirective);
    if (directive == nullptr) {
      patches.push_back(left[place]);
      places.push_back(place);
    } else if (directive->AsString() == "delete") {
      if (!left[place].Has(key)) return NoMergeKey(left[place], key);
      gone.Add(left[place]);
    } else if (directive->AsString() == "replace") {
      replace = true;
    } else if (directive->AsString() == "merge") {
      return BadPatch("merging lists cannot yet be specified in the patch");
    } else {
      return UnknownDirective(*directive, left[place]);
    }
  }
  if (replace) {
    for (const Value& element : patches) TRY(CheckMergeKey(element, key));
    return StrategicMerged{Array(patches), patch};
  }
  Values merged(live.elements().begin(), live.elements().end());
  std::erase_if(merged, [&](const Value& element) { return gone.Has(element); });
  const Values before = merged;
  std::map<std::size_t, std::size_t> added;  // where in `merged` an element of `left` has come to
  ElementIndex index(merged, key);
  for (std::size_t next = 0; next < patches.size(); ++next) {
    if (!patches[next].Has(key)) return NoMergeKey(patches[next], key);
    const auto at = index.Find(patches[next]);
    if (!at) {
      added[merged.size()] = places[next];
      merged.push_back(patches[next]);
      index.Add(patches[next]);
      continue;
    }
    const StrategicMerged one = TRY(MergeMap(rule.type, merged[*at], patches[next], depth + 1));
    left[places[next]] = one.patch;
    merged[*at] = one.object;
    if (const auto own = added.find(*at); own != added.end()) left[own->second] = one.object;
  }
  for (const Value& element : merged) TRY(CheckMergeKey(element, key));
  return StrategicMerged{Array(InOrder(merged, patches, before, key)), Array(left)};
}

// A list of a field with patch strategy "merge".
base::Result<StrategicMerged> Merger::MergeList(const FieldRule& rule, Value live, Value patch,
                                                int depth) {
  if (live.empty() && patch.empty()) return StrategicMerged{live, patch};
  TRY(CheckElementTypes(live, patch));
  if ((live.empty() ? patch[0] : live[0]).is_object()) {
    if (rule.merge_key.empty()) {
      return BadPatch(base::StrCat("cannot merge lists without merge key for ", KindOf(rule.type)));
    }
    return MergeElements(rule, live, patch, depth);
  }
  if (!rule.merge_key.empty()) return NoMap(live.empty() ? patch[0] : live[0]);
  Values values;
  ElementIndex index((std::string_view()));
  for (const Value* list : {&live, &patch}) {
    for (const Value& element : list->elements()) {
      if (index.Has(element)) continue;
      values.push_back(element);
      index.Add(element);
    }
  }
  return StrategicMerged{Array(InOrder(values, patch.elements(), live.elements(), {})), patch};
}

// A list that comes with an order must mention its elements in it.
base::Status CheckOrder(std::string_view merge_key, Value list, Value order) {
  if (list.empty() || order.empty()) return base::OkStatus();
  Values elements(list.elements().begin(), list.elements().end());
  if (!merge_key.empty()) {
    for (const Value& element : elements) {
      if (!element.is_object()) return NoMap(element);
    }
    std::erase_if(elements, [](Value e) { return e[kDirective].AsString() == "delete"; });
  }
  const std::span<const Value> wanted = order.elements();
  std::size_t next = 0;
  std::size_t place = 0;
  while (next < elements.size() && place < wanted.size()) {
    if (elements[next].Has(kDirective)) {
      ++next;
      continue;
    }
    if (!merge_key.empty()) {
      if (!wanted[place].is_object()) return NoMap(wanted[place]);
      TRY(CheckMergeKey(elements[next], merge_key));
      TRY(CheckMergeKey(wanted[place], merge_key));
    }
    if (SameElement(elements[next], wanted[place++], merge_key)) ++next;
  }
  if (next == elements.size() || place < wanted.size()) return base::OkStatus();
  return BadPatch(base::StrCat("The order in patch list:\n", GoValueText(list),
                               "\n doesn't match $setElementOrder list:\n", GoValueText(order),
                               "\n"));
}

// The elements of a list of maps can be looked up in an order.
base::Status CheckOrdered(const Values& list, Value order, std::string_view merge_key) {
  for (const Value& element : list) {
    TRY(CheckMergeKey(element, merge_key));
    std::size_t place = 0;
    for (const Value& wanted : order.elements()) {
      if (!wanted.is_object()) {
        return BadPatch(base::StrCat("value for key ", std::to_string(place), " is not a map"));
      }
      if (SameElement(element, wanted, merge_key)) break;
      ++place;
    }
  }
  return base::OkStatus();
}

// The order of the live elements. Go deletes in place, and what is new is written to where elements have been, so that
// it stands in this order, too.
Values LiveOrder(Value live, Value list, std::string_view merge_key) {
  Values order(live.elements().begin(), live.elements().end());
  ElementIndex gone(merge_key);
  for (const Value& element : list.elements()) {
    const std::string_view directive = element[kDirective].AsString();
    if (directive == "replace") return order;
    if (directive == "delete") gone.Add(element);
  }
  std::erase_if(order, [&](const Value& element) { return gone.Has(element); });
  ElementIndex index(order, merge_key);
  for (const Value& element : list.elements()) {
    if (order.size() == live.size()) break;
    if (element.Has(kDirective) || index.Has(element)) continue;
    index.Add(element);
    order.push_back(element);
  }
  return order;
}

// `$setElementOrder/<field>`, together with the list.
base::Status Merger::MergeOrdered(const GoType& type, MapDraft& out, MapDraft& left, Value patch,
                                  const json::Member& order, int depth) {
  left.Remove(order.name());
  if (!order.value.is_array()) return NoList(order.value);
  const std::string_view field = TRY(FieldOf(order.name(), kElementOrder, "setElementOrder list"));
  const Value* live = out.Find(field);
  const Value* list = patch.Find(field);
  for (const Value* one : {live, list}) {
    if (one != nullptr && !one->is_array()) return NoList(*one);
  }
  const FieldRule rule = TRY(ListRuleOf(type, field));
  if (list != nullptr) TRY(CheckOrder(rule.merge_key, *list, order.value));
  Value merged;
  if (live != nullptr && list != nullptr) {
    merged = rule.merge ? TRY(MergeList(rule, *live, *list, depth + 1)).object : *list;
  } else if (list != nullptr) {
    merged = *WithoutDirectives(*list).kept;
  } else if (live != nullptr) {
    merged = *live;
  } else {
    return base::OkStatus();
  }
  const Values values(merged.elements().begin(), merged.elements().end());
  if (!rule.merge_key.empty()) TRY(CheckOrdered(values, order.value, rule.merge_key));
  const Value none = Array({});
  const Value& before = live != nullptr ? *live : none;
  const Value& wanted = list != nullptr ? *list : none;
  if (before.empty() && wanted.empty()) return BadPatch("no elements in any of the given slices");
  TRY(CheckElementTypes(before, wanted));
  if ((before.empty() ? wanted[0] : before[0]).is_object()) {
    for (const Value& element : order.value.elements()) TRY(CheckMergeKey(element, rule.merge_key));
  }
  const Values places = rule.merge && !rule.merge_key.empty()
                            ? LiveOrder(before, wanted, rule.merge_key)
                            : Values(before.elements().begin(), before.elements().end());
  out.Set(field, Array(InOrder(values, order.value.elements(), places, rule.merge_key)));
  left.Remove(field);
  return base::OkStatus();
}

base::Status Merger::MergeMember(const GoType& type, MapDraft& out, MapDraft& left,
                                 const json::Member& member, int depth) {
  std::string_view name = member.name();
  const bool deletes = name.starts_with(kDeleteFromList);
  if (deletes) {
    const std::string_view field = TRY(FieldOf(name, kDeleteFromList, "primitive list"));
    if (!field.empty()) name = field;
  }
  const Value patch = member.value;
  if (patch.is_null()) {
    out.Remove(name);
    return base::OkStatus();
  }
  const Value* live = out.Find(name);
  if (live == nullptr || live->type() != patch.type()) {
    if (deletes) return base::OkStatus();
    const Cleaned cleaned = WithoutDirectives(WithoutNulls(patch));
    out.Remove(name);
    if (cleaned.kept) out.Set(name, *cleaned.kept);
    left.Set(member.name(), cleaned.patch);
    return base::OkStatus();
  }
  StrategicMerged merged{patch, patch};
  if (patch.is_object()) {
    const FieldRule rule = TRY(RuleOf(type, name));
    if (!rule.replace) merged = TRY(MergeMap(rule.type, *live, patch, depth + 1));
  } else if (patch.is_array()) {
    const FieldRule rule = TRY(ListRuleOf(type, name));
    const bool of_maps = (live->empty() ? patch[0] : (*live)[0]).is_object();
    if (deletes && !of_maps) {
      if (!live->empty() || !patch.empty()) TRY(CheckElementTypes(*live, patch));
      merged.object = Without(*live, patch);
    } else if (deletes || rule.merge) {
      merged = TRY(MergeList(rule, *live, patch, depth + 1));
    }
  }
  out.Set(name, merged.object);
  left.Set(member.name(), merged.patch);
  return base::OkStatus();
}

base::Result<StrategicMerged> Merger::MergeMap(const GoType& type, Value object, Value patch,
                                               int depth) {
  if (depth > kMaxDepth) return BadPatch("exceeded max depth");
  if (const Value* directive = patch.Find(kDirective)) {
    const std::string_view text = directive->AsString();
    if (text == "replace") {
      const Value whole = json::Without(arena_, patch, kDirective);
      return StrategicMerged{whole, whole};
    }
    if (text == "delete") return StrategicMerged{json::MakeObject(arena_, {}), patch};
    return UnknownDirective(*directive, patch);
  }
  MapDraft out(arena_, object);
  MapDraft left(arena_, patch);
  TRY(RetainKeys(out, left, object, patch));
  for (const json::Member& member : patch.members()) {
    if (member.name().starts_with(kElementOrder)) {
      TRY(MergeOrdered(type, out, left, patch, member, depth));
    }
  }
  for (const json::Member& member : patch.members()) {
    if (left.Find(member.name()) == nullptr) continue;
    TRY(MergeMember(type, out, left, member, depth));
  }
  return StrategicMerged{out.Build(), left.Build()};
}

}  // namespace

base::Result<StrategicMerged> StrategicMerge(json::Arena& arena, const schema::Schema& schema,
                                             Value object, Value patch) {
  return Merger(arena).MergeMap({&schema, false}, object, patch, 0);
}

}  // namespace portcullis::api::patch
