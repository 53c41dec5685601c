#include "api/schema/order.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/inline_vector.h"

namespace portcullis::api::schema {
namespace {

using json::Member;
using json::Value;

constexpr std::size_t kLast = SIZE_MAX;

Value Ordered(json::Arena& arena, const Schema* schema, Value value) {
  const bool deep = !value.empty() && schema != nullptr;
  return deep ? InGoOrder(arena, *schema, value) : value;
}

Value OrderedElements(json::Arena& arena, const Schema& schema, Value list) {
  base::InlineVector<Value, 16> out;
  bool changed = false;
  for (const Value& element : list.elements()) {
    out.push_back(Ordered(arena, schema.element, element));
    changed = changed || !out[out.size() - 1].IsSameAs(element);
  }
  return changed ? json::MakeArray(arena, out.span()) : list;
}

// Members with the places they belong to, put there.
Value Sorted(json::Arena& arena, std::span<const Member> members,
             std::span<const std::size_t> places, bool by_name) {
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return by_name ? members[a].name() < members[b].name() : places[a] < places[b];
  });
  base::InlineVector<Member, 32> out;
  for (const std::size_t at : order) out.push_back(members[at]);
  return json::MakeObject(arena, out.span());
}

Value OrderedMembers(json::Arena& arena, const Schema& schema, Value object) {
  const bool by_name = schema.kind == Kind::kMap;
  base::InlineVector<Member, 32> members;
  base::InlineVector<std::size_t, 32> places;
  bool changed = false;
  bool in_order = true;
  for (const Member& member : object.members()) {
    const Field* field = by_name ? nullptr : schema.FindField(member.name(), member.hash);
    const Schema* below = by_name ? schema.element : field != nullptr ? field->schema : nullptr;
    const std::size_t place =
        field != nullptr ? static_cast<std::size_t>(field - schema.fields.data()) : kLast;
    if (!members.empty() && in_order) {
      in_order = by_name ? members[members.size() - 1].name() < member.name()
                         : places[places.size() - 1] <= place;
    }
    members.push_back(member);
    places.push_back(place);
    Value& value = members[members.size() - 1].value;
    value = Ordered(arena, below, member.value);
    changed = changed || !value.IsSameAs(member.value);
  }
  if (!in_order) return Sorted(arena, members.span(), places.span(), by_name);
  return changed ? json::MakeObject(arena, members.span()) : object;
}

}  // namespace

Value InGoOrder(json::Arena& arena, const Schema& schema, Value value) {
  if (value.is_array()) {
    const bool list = schema.kind == Kind::kArray || schema.kind == Kind::kUnion;
    return list ? OrderedElements(arena, schema, value) : value;
  }
  if (!value.is_object()) return value;
  if (schema.kind == Kind::kUnion) return Ordered(arena, schema.element, value);
  const bool members = schema.kind == Kind::kStruct || schema.kind == Kind::kMap;
  return members ? OrderedMembers(arena, schema, value) : value;
}

}  // namespace portcullis::api::schema
