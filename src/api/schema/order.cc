// SPDX-License-Identifier: Apache-2.0

#include "api/schema/order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/stack_memory.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

// Members and elements lie on stacks of their own, so that objects nested ten thousand deep need
// little of the thread's.
class Orderer {
 public:
  explicit Orderer(json::Arena& arena) : arena_(arena) {
    elements_.reserve(kUsual);
    placed_.reserve(kUsual);
    members_.reserve(kUsual);
  }

  bool has_empty_list() const { return has_empty_list_; }

  // `known` is in order, or null.
  Value Order(const Schema* schema, Value value, Value known) {
    if (schema == nullptr || value.IsSameAs(known)) return value;
    if (value.empty()) {
      has_empty_list_ = has_empty_list_ || (value.is_array() && schema->kind != Kind::kAny);
      return value;
    }
    if (value.is_array()) {
      const bool list = schema->kind == Kind::kArray || schema->kind == Kind::kUnion;
      return list ? Elements(*schema, value, known) : value;
    }
    if (schema->kind == Kind::kUnion) return Order(schema->element, value, known);
    const bool members = schema->kind == Kind::kStruct || schema->kind == Kind::kMap;
    return members ? Members(*schema, value, known) : value;
  }

 private:
  static constexpr std::size_t kUsual = 48;          // of each on the path of an ordinary object
  static constexpr std::size_t kUnknown = SIZE_MAX;  // behind all fields
  struct Placed {
    json::Member member;
    std::size_t place = 0;  // of the field, or kUnknown; equal in maps
  };
  static constexpr std::size_t kUsualBytes =
      kUsual * (sizeof(Value) + sizeof(Placed) + sizeof(json::Member));

  // Whether anything in a value of that schema may have to be moved.
  static bool HasOrder(const Schema* schema) {
    return schema != nullptr && (schema->kind == Kind::kArray || schema->kind == Kind::kUnion ||
                                 schema->kind == Kind::kStruct || schema->kind == Kind::kMap);
  }

  static bool IsSortedByName(std::span<const json::Member> members) {
    return std::is_sorted(members.begin(), members.end(),
                          [](const auto& a, const auto& b) { return a.name() < b.name(); });
  }

  Value Elements(const Schema& schema, Value list, Value known) {
    if (!HasOrder(schema.element)) return list;
    const std::size_t first = elements_.size();
    bool changed = false;
    std::size_t index = 0;
    for (const Value& element : list.elements()) {
      const Value ordered = Order(schema.element, element, known[index++]);
      changed = changed || !ordered.IsSameAs(element);
      elements_.push_back(ordered);
    }
    const Value result =
        changed ? json::MakeArray(arena_, std::span(elements_).subspan(first)) : list;
    elements_.resize(first);
    return result;
  }

  // Where the field of a member is, or kUnknown. Most members stand in order already: the field is not far
  // behind that of the member before.
  static std::size_t PlaceOf(const Schema& schema, const json::Member& member, std::size_t next) {
    constexpr std::size_t kFar = 12;
    const std::size_t end = std::min(next + kFar, schema.fields.size());
    for (; next < end; ++next) {
      const Field& field = schema.fields[next];
      if (field.hash != member.hash) continue;
      // Most names are those of the schema, from decoding.
      if (field.name.data() == member.name_data || field.name == member.name()) return next;
    }
    const Field* const field = schema.FindField(member.name(), member.hash);
    if (field == nullptr) return kUnknown;
    return static_cast<std::size_t>(field - schema.fields.data());
  }

  Value Members(const Schema& schema, Value object, Value known) {
    const bool holds_leaves = schema.kind == Kind::kMap && !HasOrder(schema.element);
    if (holds_leaves && IsSortedByName(object.members())) return object;
    const std::size_t first = placed_.size();
    bool changed = false;
    bool sorted = schema.kind == Kind::kStruct || IsSortedByName(object.members());
    std::size_t last = 0;
    std::size_t next = 0;
    for (const json::Member& member : object.members()) {
      Placed placed{member, 0};
      const Schema* below = schema.element;
      if (schema.kind == Kind::kStruct) {
        placed.place = PlaceOf(schema, member, next);
        const bool is_known = placed.place != kUnknown;
        below = is_known ? schema.fields[placed.place].schema : nullptr;
        sorted = sorted && placed.place >= last;
        last = placed.place;
        if (is_known) next = placed.place + 1;
      }
      if (member.value.is_object() || member.value.is_array()) {
        const Value* const before = known.Find(member.name(), member.hash);
        placed.member.value = Order(below, member.value, before != nullptr ? *before : Value());
        changed = changed || !placed.member.value.IsSameAs(member.value);
      }
      placed_.push_back(placed);
    }
    if (!sorted) Sort(std::span(placed_).subspan(first), schema.kind == Kind::kMap);
    const Value result = sorted && !changed ? object : Built(first);
    placed_.resize(first);
    return result;
  }

  static void Sort(std::span<Placed> members, bool by_name) {
    const auto before = [by_name](const Placed& a, const Placed& b) {
      return by_name ? a.member.name() < b.member.name() : a.place < b.place;
    };
    if (members.size() > kUsual) return std::stable_sort(members.begin(), members.end(), before);
    // Few stand in the wrong place: each is put behind the last that is not behind it.
    for (std::size_t i = 1; i < members.size(); ++i) {
      const Placed moved = members[i];
      std::size_t to = i;
      while (to > 0 && before(moved, members[to - 1])) --to;
      if (to == i) continue;
      std::copy_backward(members.begin() + static_cast<std::ptrdiff_t>(to),
                         members.begin() + static_cast<std::ptrdiff_t>(i),
                         members.begin() + static_cast<std::ptrdiff_t>(i + 1));
      members[to] = moved;
    }
  }

  Value Built(std::size_t first) {
    members_.clear();
    for (std::size_t at = first; at < placed_.size(); ++at) members_.push_back(placed_[at].member);
    return json::MakeObject(arena_, members_);
  }

  json::Arena& arena_;
  bool has_empty_list_ = false;
  base::StackMemory<kUsualBytes> memory_;
  // Of the lists being ordered, innermost last; likewise of objects; and of the object being built.
  std::pmr::vector<Value> elements_{memory_.resource()};
  std::pmr::vector<Placed> placed_{memory_.resource()};
  std::pmr::vector<json::Member> members_{memory_.resource()};
};

}  // namespace

Value InGoOrder(json::Arena& arena, const Schema& schema, Value value, Value known,
                bool* has_empty_list) {
  Orderer orderer(arena);
  const Value ordered = orderer.Order(&schema, value, known);
  if (has_empty_list != nullptr && orderer.has_empty_list()) *has_empty_list = true;
  return ordered;
}

}  // namespace portcullis::api::schema
