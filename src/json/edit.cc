// SPDX-License-Identifier: Apache-2.0

#include "json/edit.h"

namespace portcullis::json {

Value WithMemberOf(Arena& arena, Value object, std::string_view name, Value source) {
  const Value* value = source.Find(name);
  return value == nullptr ? Without(arena, object, name) : With(arena, object, name, *value);
}

Value WithMembers(Arena& arena, Value object, Value changes) {
  std::vector<Member> out;
  out.reserve(object.size() + changes.size());
  for (const Member& member : object.members()) {
    const Value* change = changes.Find(member.name(), member.hash);
    if (change != nullptr && change->is_null()) continue;
    out.emplace_back(member);
    if (change != nullptr) out.back().value = *change;
  }
  for (const Member& change : changes.members()) {
    if (!change.value.is_null() && object.Find(change.name(), change.hash) == nullptr) {
      out.push_back(change);
    }
  }
  return MakeObject(arena, out);
}

}  // namespace portcullis::json
